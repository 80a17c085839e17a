// Step 4 of the tutorial: a person approves large refunds.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, order string, decision []string) (err error) {
	saver, err := sqlite.Open("refunds.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := newRefund(saver)
	if err != nil {
		return err
	}
	thread := app.Thread(order)
	if len(decision) == 2 {
		return answer(ctx, thread, Approval{OK: decision[0] == "approve", By: decision[1]})
	}
	res, err := thread.Invoke(ctx, StateUpdate{Order: state.Set(order)}, graph.RequestID(order))
	if err != nil {
		return err
	}
	return show(res)
}

// answer answers the open questions of a thread and resumes it.
func answer(ctx context.Context, thread graph.Thread[State, StateUpdate], a Approval) error {
	snap, err := thread.State(ctx)
	if err != nil {
		return err
	}
	var answers []graph.ResumeOption
	for _, q := range snap.Questions {
		answers = append(answers, approve.Answer(q, a))
	}
	res, err := thread.Resume(ctx, answers...)
	if err != nil {
		return err
	}
	return show(res)
}

func show(res graph.Result[State]) error {
	for _, q := range res.Questions {
		asked, err := approve.Decode(q)
		if err != nil {
			return err
		}
		fmt.Printf("waiting: may %s get %d cents?\n", asked.Order, asked.Cents)
	}
	fmt.Println(res.Status, res.State.Log)
	return nil
}

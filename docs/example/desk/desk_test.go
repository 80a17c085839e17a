package desk_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/example/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleNewReader() {
	app, err := desk.NewReader(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Thread("t-1").Invoke(context.Background(), desk.StateUpdate{Names: state.Append("b", "a")})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range res.State.Log {
		fmt.Println(line)
	}
	// Output:
	// read b
	// read a
	// found A B
}

func ExampleNewTriage() {
	app, err := desk.NewTriage()
	if err != nil {
		log.Fatal(err)
	}
	for _, order := range []string{"R-1", "A-2"} {
		res, err := app.Run(context.Background(), desk.StateUpdate{Order: state.Set(order)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.State.Log, res.Steps)
	}
	// Output:
	// [opened R-1] 2
	// [opened A-2] 1
}

func ExampleNewRefunds() {
	ctx, saver := context.Background(), memory.New()
	app, err := desk.NewRefunds(saver)
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	res, err := t.Invoke(ctx, desk.StateUpdate{Order: state.Set("A-1")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status)
	res, err = desk.Decide(ctx, t, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// waiting
	// done [paid, approved by Ada]
}

func ExampleShow() {
	app, err := desk.NewWriter(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	if err := desk.Show(context.Background(), app.Thread("t-1"), desk.StateUpdate{Order: state.Set("Ada")}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// write emits "Dear "
	// write emits "Ada"
	// write emits ","
	// write is stored
	// done
}

func ExampleWhatIf() {
	ctx := context.Background()
	app, err := desk.NewWriter(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	if _, err := t.Invoke(ctx, desk.StateUpdate{Order: state.Set("Ada")}); err != nil {
		log.Fatal(err)
	}
	res, err := desk.WhatIf(ctx, t, "write", desk.StateUpdate{Order: state.Set("Grace")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.State.Log)
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(snap.Step, snap.Source, snap.State.Order, snap.State.Log)
	}
	// Output:
	// [Dear Grace,]
	// 2 loop Grace [Dear Grace,]
	// 1 fork Grace []
	// 2 loop Ada [Dear Ada,]
	// 1 input Ada []
	// 0 input  []
}

func ExampleUsers() {
	ctx := context.Background()
	app, err := desk.NewWriter(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	if _, err := t.UpdateState(ctx, desk.StateUpdate{Order: state.Set("Ada")}, graph.AsNode(graph.Start)); err != nil {
		log.Fatal(err)
	}
	if _, err := desk.Approve(ctx, t, "eve"); err != nil {
		log.Fatal(err)
	}
	users, err := desk.Users(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", users)
	// Output:
	// ["eve" ""]
}

func ExampleBetween() {
	ctx := context.Background()
	app, err := desk.NewReader(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	res, err := t.Invoke(ctx, desk.StateUpdate{Names: state.Append("b", "a")})
	if err != nil {
		log.Fatal(err)
	}
	start, err := desk.BeforeNode(ctx, t, "read")
	if err != nil {
		log.Fatal(err)
	}
	diff, err := desk.Between(ctx, t, start, res.Checkpoint)
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range diff.Found.Added {
		fmt.Println(name, "was found:", text)
	}
	fmt.Println(diff)
	// Unordered output:
	// a was found: A
	// b was found: B
	// Found: add map[a:A b:B]
	// Log: append [read b read a found A B]
}

func ExampleNewOffice() {
	ctx, saver := context.Background(), memory.New()
	app, err := desk.NewOffice(saver)
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	res, err := t.Invoke(ctx, desk.StateUpdate{Order: state.Set("Grace")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Questions[0].Path, res.Questions[0].Node)
	res, err = desk.Decide(ctx, t, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	lines, err := desk.Tree(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// waiting [letter] write
	// done [Dear Grace Yours, Ada]
	// step 2, next []
	// step 1, next [letter]
	//   letter: step 2, next []
	//   letter: step 1, next [write]
	// step 0, next [Start]
}

func ExampleNewMailing() {
	ctx := context.Background()
	app, err := desk.NewMailing(memory.New())
	if err != nil {
		log.Fatal(err)
	}
	t := app.Thread("t-1")
	res, err := t.Invoke(ctx, desk.StateUpdate{Names: state.Append("Grace", "Alan")})
	for err == nil && res.Status == graph.Waiting {
		for _, q := range res.Questions {
			fmt.Println(q.Path, q.Node)
		}
		res, err = desk.Decide(ctx, t, "Ada")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// [letter] write
	// [letter[1]] write
	// done [Dear Grace Yours, Ada Dear Alan Yours, Ada]
}

func ExampleNewCounter() {
	app, err := desk.NewCounter()
	if err != nil {
		log.Fatal(err)
	}
	var in desk.StateUpdate
	in.Order.Set("17")
	for range 2 {
		res, err := app.Run(context.Background(), in)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.State.Log)
		in.Found.Put("17", "a lamp")
	}
	// Output:
	// [looked for 17 person has it]
	// [looked for 17 reply has it]
}

func TestRunsOverHTTP(t *testing.T) {
	app, err := desk.NewWriter(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	server := desk.NewServer(app, func(thread string, err error) { t.Errorf("%s: %v", thread, err) })
	s := httptest.NewServer(server.Handler)
	defer s.Close()
	for _, c := range []struct{ method, query, want string }{
		{http.MethodPost, "?order=Ada", `data: "Dear "`},
		{http.MethodGet, "", `data: ["Dear Ada,"]`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+"/runs/t-1"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(body), c.want) || !strings.Contains(string(body), `data: "done"`) {
			t.Errorf("%s: got %s, %v; want %s in it, and the end", c.method, body, err, c.want)
		}
	}
}

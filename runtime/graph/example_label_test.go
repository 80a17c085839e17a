package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A label names the user of a thread. The nodes use a store that is confined to that user.
func ExampleThreadLabel() {
	mine := store.Scoped(memory.NewStore(), func(ctx context.Context) (store.Namespace, error) {
		user, err := graph.ThreadLabel(ctx, "user")
		return store.Namespace{"users", user}, err
	})
	notes, err := store.NewCollection[wire.String](mine, store.Namespace{"notes"})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("tickets", TicketSchema)
	b.Node("note", func(ctx context.Context, s Ticket) (u TicketUpdate, err error) {
		before, err := notes.Get(ctx, "last")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return u, err
		}
		u.Log.Append("before: " + string(before.Value))
		_, err = notes.Put(ctx, "last", wire.String(s.Status))
		return u, err
	})
	b.Chain(graph.Start, "note", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	for _, turn := range []struct{ thread, user, status string }{
		{"ticket-1", "ada", "lost parcel"}, {"ticket-2", "bob", "refund"}, {"ticket-3", "ada", "new address"},
	} {
		in := TicketUpdate{Status: state.Set(turn.status)}
		res, err := app.Thread(turn.thread).Invoke(context.Background(), in, graph.Label("user", turn.user))
		fmt.Println(turn.user, res.State.Log, err)
	}
	_, err = app.Thread("ticket-4").Invoke(context.Background(), TicketUpdate{})
	fmt.Println(errors.Is(err, graph.ErrNoLabel))
	// Output:
	// ada [before: ] <nil>
	// bob [before: ] <nil>
	// ada [before: lost parcel] <nil>
	// true
}

package howto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleNewDesk() {
	ctx, saver := context.Background(), memory.New()
	reader, err := howto.NewReader(func(_ context.Context, name string) (string, error) { return "the text of " + name, nil }, saver)
	if err != nil {
		log.Fatal(err)
	}
	desk, err := howto.NewDesk(reader, saver)
	if err != nil {
		log.Fatal(err)
	}
	res, err := desk.Thread("desk-1").Invoke(ctx, howto.StateUpdate{Names: state.Append("a", "b")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Signals)
	work(ctx, reader, saver) // as a worker does
	work(ctx, desk, saver)
	snap, err := desk.Thread("desk-1").State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(snap.Status, snap.State.Log)
	// Output:
	// waiting [child desk-1-a at read child desk-1-b at read]
	// done [a has 13 bytes b has 13 bytes]
}

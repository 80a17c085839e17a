package howto_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleNewReader() {
	calls := 0
	app, err := howto.NewReader(func(_ context.Context, name string) (string, error) {
		if name == "bad" {
			calls++
			return "", errors.New("no such page")
		}
		return "the text of " + name, nil
	}, memory.New())
	if err != nil {
		log.Fatal(err)
	}
	res, err := app.Thread("t-1").Invoke(context.Background(), howto.StateUpdate{Names: state.Append("a", "bad", "b")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	fmt.Println(res.State.Failed, "after", calls, "attempts")
	// Output:
	// done [read 2 documents, 1 failed]
	// [{bad no such page 3 false}] after 3 attempts
}

func TestImportContinuesAfterAFailure(t *testing.T) {
	const total, bad = 50_000, 777
	var done [total]int // each chunk has its own range
	crash := true
	app, err := howto.NewImport(func(_ context.Context, item int) error {
		if item == 31_000 && crash {
			panic("a fault in the program")
		}
		done[item]++
		if item == bad {
			return errors.New("the item is damaged")
		}
		return nil
	}, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("import-1")
	if _, err := thread.Invoke(t.Context(), howto.StateUpdate{Total: state.Set(total)}); err == nil {
		t.Fatal("the run succeeded, want the panic")
	}
	crash = false
	res, err := thread.Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.State.Accepted != total-1 || len(res.State.Rejected) != 1 || res.State.Rejected[0] != bad {
		t.Errorf("accepted %d, rejected %v; want %d and [%d]", res.State.Accepted, res.State.Rejected, total-1, bad)
	}
	snap, err := thread.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := snap.Step-1, 21; got != want { // the input is step 1
		t.Errorf("the import took %d supersteps, and the page says %d", got, want)
	}
	twice := 0
	for item, n := range done {
		if n == 0 {
			t.Errorf("item %d was not processed", item)
		} else if n > 1 {
			twice++
		}
	}
	if limit := 10 * 500; twice > limit {
		t.Errorf("%d items were processed twice, want at most the %d of the chunks in progress", twice, limit)
	}
}

func TestCopyAll(t *testing.T) {
	from, to := memory.New(), memory.New()
	for _, id := range []string{"t-1", "t-2"} {
		app, err := howto.NewRefunds(from)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Thread(id).Invoke(t.Context(), howto.StateUpdate{Order: state.Set("A-" + id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := howto.CopyAll(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	app, err := howto.NewRefunds(to)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := app.Thread("t-2").State(t.Context())
	if err != nil || snap.Status != checkpoint.Waiting || len(snap.Questions) != 1 || snap.State.Order != "A-t-2" {
		t.Errorf("the copy is %v, %d questions, order %q, %v", snap.Status, len(snap.Questions), snap.State.Order, err)
	}
	if err := howto.CopyAll(t.Context(), from, to); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("copying to threads that exist: got %v, want ErrConflict", err)
	}
}

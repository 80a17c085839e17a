package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// limited is a saver that takes no write larger than a limit, as a server does.
type limited struct {
	checkpoint.Saver
	max int
}

func (l *limited) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	for i := range w.Writes {
		if len(w.Writes[i].Payload) > l.max {
			return checkpoint.PutResult{}, errors.New("too large for the server")
		}
	}
	return l.Saver.PutWrites(ctx, w)
}

func TestALongErrorIsStoredCut(t *testing.T) {
	for name, text := range map[string]string{
		"one that fits":     strings.Repeat("x", 4<<10),
		"28 MB":             strings.Repeat("x", 28<<20),
		"64 KiB of é":       "x" + strings.Repeat("é", 32<<10),
		"64 KiB of 😀":       "x" + strings.Repeat("😀", 16<<10),
		"28 KiB of no text": strings.Repeat("\x80", 28<<10),
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.New("g", teststate.WorkSchema)
			b.Node("a", func(context.Context, work) (update, error) { return update{}, errors.New(text) })
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			g, err := b.Compile(graph.Saver(&limited{memory.New(), 16 << 10}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Thread("t").Invoke(t.Context(), update{})
			if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "too large") {
				t.Fatalf("got an error of %d bytes; want the whole error, of more than %d", len(errText(err)), len(text))
			}
			snap, err := g.Thread("t").State(t.Context())
			if err != nil || len(snap.Tasks) != 1 {
				t.Fatalf("got %d tasks, %v; want 1", len(snap.Tasks), err)
			}
			got := snap.Tasks[0].Failure
			if cut := strings.HasSuffix(got, "bytes cut)"); len(got) > 8<<10+100 || len(got) < 4<<10 || cut != (len(text) > 8<<10) {
				t.Errorf("got %d bytes, ending in %q; want at most 8 KiB, and a mark when some was cut", len(got), got[len(got)-40:])
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("a character was cut in two: %q", got[8<<10-8:])
			}
			if _, err := g.Thread("t").Resume(t.Context()); errors.As(err, new(*checkpoint.BusyError)) {
				t.Errorf("the thread is held after the run: %v", err)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A run whose last write cannot be stored gives up its lease all the same.
func TestALastWriteThatIsRefusedForGoodLeavesNoLease(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		b := graph.New("g", teststate.WorkSchema)
		begun := make(chan struct{})
		begin := sync.OnceFunc(func() { close(begun) })
		b.Node("a", func(context.Context, work) (u update, err error) {
			begin()
			u.Status.Set(strings.Repeat("x", 1<<20))
			return u, nil
		})
		b.Node("b", func(context.Context, work) (update, error) {
			<-begun // a failure before that would keep a from running
			return update{}, errors.New("b failed")
		})
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Edge("a", graph.End)
		b.Edge("b", graph.End)
		g, err := b.Compile(graph.Saver(&limited{memory.New(), 16 << 10}), d)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Thread("t").Invoke(t.Context(), update{})
		if err == nil || !strings.Contains(err.Error(), "too large for the server") {
			t.Errorf("got %v, want what the saver said", err)
		}
		_, err = g.Thread("t").Resume(t.Context())
		if errors.As(err, new(*checkpoint.BusyError)) {
			t.Errorf("the thread is held after the run: %v", err)
		}
	})
}

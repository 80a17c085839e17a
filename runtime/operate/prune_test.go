package operate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/fixtures"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestADryRunOfAPruneCountsWhatThePruneRemoves prunes threads with a released version, an open
// version and messages.
func TestADryRunOfAPruneCountsWhatThePruneRemoves(t *testing.T) {
	ctx, later := t.Context(), time.Now().Add(time.Hour)
	for _, c := range []struct {
		inbox checkpoint.MessageKind // of a message that waits; 0 for none
		open  bool                   // the thread has an open version, which is done
		keep  checkpoint.Retention
		want  operate.Changed
	}{
		{0, true, checkpoint.Retention{Last: 1}, operate.Changed{Records: 2}},
		{0, true, checkpoint.Retention{Last: 5}, operate.Changed{Skipped: true}},
		{0, true, checkpoint.Retention{Since: later}, operate.Changed{Records: 2}},
		{0, true, checkpoint.Retention{Released: -1}, operate.Changed{Versions: 1}},
		{0, true, checkpoint.Retention{Released: -1, Ended: later}, operate.Changed{Whole: true}},
		{0, false, checkpoint.Retention{Ended: later}, operate.Changed{Whole: true}},
		{0, true, checkpoint.Retention{Ended: later.Add(-2 * time.Hour)}, operate.Changed{Skipped: true}},
		{checkpoint.WakeMessage, true, checkpoint.Retention{Ended: later}, operate.Changed{Skipped: true}},
		{checkpoint.InputMessage, true, checkpoint.Retention{Last: 1, Ended: later}, operate.Changed{Records: 2}},
		{checkpoint.InputMessage, false, checkpoint.Retention{Released: -1}, operate.Changed{Versions: 1}},
	} {
		s := memory.New()
		app := newApp(t, s, func(context.Context) error { return nil })
		invoke := func() {
			if _, err := app.Thread("t").Invoke(ctx, fixtures.ParcelUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
		invoke()
		if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
		if c.open {
			invoke()
		}
		if c.inbox != 0 {
			post(t, s, checkpoint.Post{Thread: "t", Graph: "parcels", Messages: []checkpoint.Message{{ID: "m", Kind: c.inbox}}})
		}
		o := &operate.Operator{Saver: s}
		th, err := o.Find(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, true, false} {
			got, err := o.Do(ctx, operate.Operation{Action: operate.Prune, Keep: c.keep, DryRun: dry}, &th)
			if err != nil || got != c.want {
				t.Errorf("keep %+v, open %t, message %v, dry %t: got %+v, %v; want %+v", c.keep, c.open, c.inbox, dry, got, err, c.want)
			}
		}
	}
}

// post stores messages.
func post(t *testing.T, s checkpoint.Saver, p checkpoint.Post) {
	t.Helper()
	if posted, err := s.Post(t.Context(), p); err != nil || posted[0].Err != nil {
		t.Fatal(err, posted)
	}
}

// TestAPruneFoldsNothingThatItCannotRead has payloads without a key.
func TestAPruneFoldsNothingThatItCannotRead(t *testing.T) {
	s, closed := memory.New(), errors.New("no key")
	app := newApp(t, s, func(context.Context) error { return nil })
	for range 2 {
		if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
	o := &operate.Operator{Saver: s, Explain: func([]byte) error { return closed }}
	th, err := o.Find(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		op := operate.Operation{Action: operate.Prune, Keep: checkpoint.Retention{Last: 1}, DryRun: dry}
		if _, err := o.Do(t.Context(), op, &th); !errors.Is(err, closed) {
			t.Errorf("dry run %t: got %v, want %v", dry, err, closed)
		}
	}
}

// halfDown is a saver whose second storage does not answer.
type halfDown struct{ checkpoint.Saver }

var errDown = fmt.Errorf("shard b: %w", checkpoint.ErrPartial)

func (s *halfDown) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if !yield(t, err) {
				return
			}
		}
		yield(checkpoint.Thread{}, errDown)
	}
}

func (s *halfDown) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	if err == nil && len(q.Graphs) > 0 {
		err = errDown
	}
	return got, err
}

// TestCountsAreThoseOfTheStorageThatAnswers counts threads that are done, wait and have failed.
func TestCountsAreThoseOfTheStorageThatAnswers(t *testing.T) {
	s := memory.New()
	outcome := error(nil)
	app := newApp(t, s, func(ctx context.Context) error {
		if outcome == nil {
			_, err := approve.Ask(ctx, "is it right?")
			return err
		}
		return outcome
	}, approve)
	for _, id := range []string{"a", "b", "c"} {
		if id == "c" {
			outcome = errors.New("broken")
		}
		if _, err := app.Thread(id).Invoke(t.Context(), fixtures.ParcelUpdate{}); !errors.Is(err, outcome) {
			t.Fatal(err)
		}
	}
	post(t, s, checkpoint.Post{Thread: "d", Graph: "parcels", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage, Payload: []byte("12345")}}})
	o := &operate.Operator{Saver: &halfDown{s}}
	got, err := o.Count(t.Context(), checkpoint.ThreadQuery{}, operate.Filter{}, true)
	if !errors.Is(err, checkpoint.ErrPartial) {
		t.Errorf("got %v, want %v", err, checkpoint.ErrPartial)
	}
	var text string
	for _, c := range got {
		text += fmt.Sprintf("%s %s %d, held %d, due %d %t, questions %d, messages %d, versions %d, records %d, bytes %t\n", c.Graph, c.Status, c.Threads,
			c.Held, c.Due, c.OldestDue != nil, c.Questions, c.Messages, c.Versions, c.Records, c.Bytes > 0)
	}
	const want = `parcels waiting 2, held 0, due 0 false, questions 2, messages 0, versions 2, records 4, bytes true
parcels failed 1, held 0, due 0 false, questions 0, messages 0, versions 1, records 2, bytes true
parcels ready 1, held 0, due 1 true, questions 0, messages 1, versions 0, records 0, bytes true
`
	if text != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
	got, err = o.Count(t.Context(), checkpoint.ThreadQuery{Status: graph.Waiting}, operate.Filter{Text: "b"}, false)
	if !errors.Is(err, checkpoint.ErrPartial) || len(got) != 1 || got[0].Threads != 1 || got[0].Records != 0 {
		t.Errorf("with a filter: got %+v, %v", got, err)
	}
}

// TestADryRunOfAPruneKeepsWhatThePruneKeeps has a thread without a version, one with a message
// after its release, and a child that has ended and not reported its end.
func TestADryRunOfAPruneKeepsWhatThePruneKeeps(t *testing.T) {
	ctx, later := t.Context(), time.Now().Add(time.Hour)
	signal := checkpoint.Message{ID: "m", Kind: checkpoint.SignalMessage, Name: "go"}
	input := checkpoint.Message{ID: "m", Kind: checkpoint.InputMessage}
	for _, c := range []struct {
		name    string
		due     bool // the thread is done, and due
		release bool // the thread has a released version
		message *checkpoint.Message
		keep    checkpoint.Retention
		want    operate.Changed
	}{
		{"an input", false, false, &input, checkpoint.Retention{Last: 1}, operate.Changed{Skipped: true}},
		{"an input", false, false, &input, checkpoint.Retention{Ended: later}, operate.Changed{Skipped: true}},
		{"a signal", false, false, &signal, checkpoint.Retention{Ended: later}, operate.Changed{Whole: true}},
		{"a signal", false, false, &signal, checkpoint.Retention{Ended: later.Add(-2 * time.Hour)}, operate.Changed{Skipped: true}},
		{"a signal after a release", false, true, &signal, checkpoint.Retention{Ended: later}, operate.Changed{Whole: true}},
		{"a signal after a release", false, true, &signal, checkpoint.Retention{Released: -1}, operate.Changed{Versions: 1}},
		{"a child", true, false, nil, checkpoint.Retention{Ended: later}, operate.Changed{Skipped: true}},
		{"a child and a signal", true, false, &signal, checkpoint.Retention{Ended: later}, operate.Changed{Whole: true}},
	} {
		s := memory.New()
		if c.release {
			app := newApp(t, s, func(context.Context) error { return nil })
			if _, err := app.Thread("t").Invoke(ctx, fixtures.ParcelUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
		if c.release {
			if _, err := s.Release(ctx, "t", checkpoint.ID{}); err != nil {
				t.Fatal(err)
			}
		}
		if c.due {
			id, err := checkpoint.NewID()
			if err != nil {
				t.Fatal(err)
			}
			first := checkpoint.Record{ID: id, Base: id, Line: id, Source: checkpoint.Input, Created: time.Now(), Snapshot: true}
			if _, err := s.Append(ctx, checkpoint.Append{
				Thread: "t", Open: &checkpoint.Opening{Holder: "me"}, Records: []checkpoint.Record{first}, Status: checkpoint.Done, End: true, Wake: later,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if c.message != nil {
			post(t, s, checkpoint.Post{Thread: "t", Graph: "parcels", Messages: []checkpoint.Message{*c.message}})
		}
		o := &operate.Operator{Saver: s}
		th, err := o.Find(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			got, err := o.Do(ctx, operate.Operation{Action: operate.Prune, Keep: c.keep, DryRun: dry}, &th)
			if err != nil || got != c.want {
				t.Errorf("%s, keep %+v, dry %t: got %+v, %v; want %+v", c.name, c.keep, dry, got, err, c.want)
			}
		}
	}
}

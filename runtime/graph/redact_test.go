package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// spy notes all that is written.
type spy struct {
	*memory.Saver
	mu  sync.Mutex
	all strings.Builder
}

func (s *spy) note(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.all, "%+q\n", v)
}

func (s *spy) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	s.note(a)
	return s.Saver.Append(ctx, a)
}

func (s *spy) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	s.note(p)
	return s.Saver.PutWrites(ctx, p)
}

func (s *spy) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	s.note(posts)
	return s.Saver.Post(ctx, posts...)
}

// TestRedactErrorsChangesAllStoredTexts fails a child. Its error is stored with its attempt, with
// its end, in the message to its parent, and with the failure of the parent. A caller in this
// process gets the error itself.
func TestRedactErrorsChangesAllStoredTexts(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	for name, c := range map[string]struct {
		node   func() (update, error)
		redact func(string) string
		stored string
	}{
		"error":      {func() (update, error) { return update{}, errors.New("login with s3cret refused") }, hide, "login with *** refused"},
		"panic":      {func() (update, error) { panic("s3cret") }, hide, "panic: ***"},
		"bad redact": {func() (update, error) { return update{}, errors.New("s3cret") }, func(string) string { panic("s3cret") }, "the text is hidden"},
		"no text":    {func() (update, error) { return update{}, errors.New("s3cret") }, func(string) string { return "" }, "the text is hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{Saver: memory.New()}
			f := familyOn(t, s, func(context.Context, work) (update, error) { return c.node() }, nil, graph.RedactErrors(c.redact))
			done(t, graph.Waiting)(f.parent.Thread("p").Invoke(t.Context(), input))
			f.work(t)
			if text := s.all.String(); strings.Contains(text, "s3cret") || strings.Count(text, c.stored) < 4 {
				t.Errorf("got %q stored %d times, and the secret %d times; want at least 4 and none", c.stored, strings.Count(text, c.stored), strings.Count(text, "s3cret"))
			}
			snap, err := f.child.Thread("kid").State(t.Context())
			if err != nil || !strings.Contains(snap.Reason, c.stored) || !strings.Contains(snap.Tasks[0].Attempts[0].Text, c.stored) {
				t.Errorf("got the reason %q and %+v, %v", snap.Reason, snap.Tasks, err)
			}
			if _, err := f.child.Thread("kid").Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the caller got %v, want the error itself", err)
			}
		})
	}
}

// TestRedactErrorsChangesTheReasonsOfRefusals answers a question whose check became stricter.
func TestRedactErrorsChangesTheReasonsOfRefusals(t *testing.T) {
	s := memory.New()
	asks := func(err error) (*app, graph.Question[wire.Int, wire.Int]) {
		back := graph.NewQuestion[wire.Int, wire.Int]("back").Check(func(wire.Int, wire.Int) error { return err })
		hide := graph.RedactErrors(func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") })
		return compile(t, paysBack(t, back, false), graph.Saver(s), hide), back
	}
	lax, back := asks(nil)
	q := done(t, graph.Waiting)(lax.Thread("t").Invoke(t.Context(), input)).Questions[0]
	if err := lax.Thread("t").Answer(t.Context(), back.Answer(q, 1)); err != nil {
		t.Fatal(err)
	}
	strict, _ := asks(errors.New("the limit of s3cret"))
	serve(t, strict, s)
	if all := refusals(t, strict.Thread("t")); len(all) != 1 || !strings.Contains(all[0], "the limit of ***") {
		t.Errorf("got refusals %q, want one with the limit of ***", all)
	}
}

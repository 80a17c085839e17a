package remember_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto/remember"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAConversationKnowsWhatItsUserSaidInAnother(t *testing.T) {
	backend := memory.NewStore()
	defer backend.Close()
	app, err := remember.New(backend, memory.New())
	if err != nil {
		t.Fatal(err)
	}
	say := func(user, thread, text string) string {
		t.Helper()
		in := remember.StateUpdate{Said: state.Set(text)}
		res, err := app.Thread(thread).Invoke(t.Context(), in, graph.Label("user", user))
		if err != nil {
			t.Fatal(err)
		}
		return res.State.Reply
	}
	for _, c := range []struct{ user, thread, says, want string }{
		{"ada", "1", "I live in Rome", "I know: "},
		{"ada", "1", "I like tea", "I know: lives in Rome"},
		{"ada", "2", "hello", "I know: lives in Rome; likes tea"},
		{"ada", "2", "I live in Oslo", "I know: lives in Rome; likes tea"},
		{"bob", "3", "hello", "I know: "},
		{"ada", "4", "hello", "I know: lives in Oslo; likes tea"},
	} {
		if got := say(c.user, c.thread, c.says); got != c.want {
			t.Errorf("%s in thread %s says %q: got the reply %q, want %q", c.user, c.thread, c.says, got, c.want)
		}
	}
	if err := remember.Forget(t.Context(), backend, "ada"); err != nil {
		t.Fatal(err)
	}
	if got := say("ada", "5", "hello"); got != "I know: " {
		t.Errorf("after Forget: got the reply %q, want nothing known", got)
	}
	left, err := backend.Find(context.Background(), store.Query{Limit: 10})
	if err != nil || len(left) != 0 {
		t.Errorf("after Forget: got %d items, %v, want none", len(left), err)
	}
}

func TestAThreadWithoutAUserIsRefused(t *testing.T) {
	app, err := remember.New(memory.NewStore(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Thread("1").Invoke(t.Context(), remember.StateUpdate{Said: state.Set("hello")})
	if !errors.Is(err, graph.ErrNoLabel) {
		t.Errorf("got %v, want graph.ErrNoLabel", err)
	}
}

func TestAboutFindsFactsByWords(t *testing.T) {
	backend := memory.NewStore()
	about := func(user, question string, facts ...string) []string {
		t.Helper()
		c, err := remember.FactsOf(backend, user)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range facts {
			if _, err := c.Put(t.Context(), text, remember.Fact{Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := remember.About(t.Context(), c, question)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := about("ada", "Which tea? Green!", "likes green tea", "lives in Rome"); len(got) != 1 || got[0] != "likes green tea" {
		t.Errorf("got %q, want the fact on tea", got)
	}
	if got := about("bob", "tea"); len(got) != 0 {
		t.Errorf("another user: got %q, want nothing", got)
	}
}

func TestProfileReadsWhatItWrote(t *testing.T) {
	backend := memory.NewStore()
	for _, user := range []string{"ada", "../ada", "%"} {
		if home, err := remember.Profile(t.Context(), backend, user); err != nil || home != "Oslo" {
			t.Errorf("%q: got %q, %v, want Oslo", user, home, err)
		}
	}
}

func TestFollowSaysWhatChanges(t *testing.T) {
	backend := memory.NewStore()
	facts, err := remember.FactsOf(backend, "ada")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := make(chan string)
	done := make(chan error, 1)
	go func() { done <- remember.Follow(ctx, facts, func(text string) { said <- text }) }()
	want := func(text string) {
		t.Helper()
		if got := <-said; got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if _, err := facts.Put(ctx, "home", remember.Fact{Text: "lives in Rome"}); err != nil {
		t.Fatal(err)
	}
	want("lives in Rome")
	if err := facts.Delete(ctx, "home"); err != nil {
		t.Fatal(err)
	}
	want("forgot home")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("after the end of the context: got %v, want no error", err)
	}
}

// lossy is a saver that loses the next commit after fail was set.
type lossy struct {
	checkpoint.Saver
	fail bool
}

var errKilled = errors.New("the process was killed")

func (l *lossy) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if l.fail {
		l.fail = false
		return checkpoint.AppendResult{}, errKilled
	}
	return l.Saver.Append(ctx, a)
}

// TestANodeThatRunsAgainWritesOnce: the commit after the node is lost, so Resume runs it again.
func TestANodeThatRunsAgainWritesOnce(t *testing.T) {
	backend, saver := memory.NewStore(), &lossy{Saver: memory.New()}
	facts, err := remember.FactsOf(backend, "ada")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	g := graph.New("count", remember.StateSchema)
	g.Node("learn", func(ctx context.Context, s remember.State) (remember.StateUpdate, error) {
		saver.fail = runs == 0
		runs++
		once := store.Once(graph.CurrentTask(ctx).Key)
		if _, err := facts.Put(ctx, "home", remember.Fact{Text: s.Said}, once); err != nil {
			return remember.StateUpdate{}, err
		}
		_, err := facts.Update(ctx, "talks", func(f *remember.Fact) error { f.Text += "x"; return nil }, once)
		return remember.StateUpdate{}, err
	})
	g.Edge(graph.Start, "learn")
	g.Edge("learn", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("1")
	if _, err := thread.Invoke(t.Context(), remember.StateUpdate{Said: state.Set("Rome")}); !errors.Is(err, errKilled) {
		t.Fatalf("the first run: got %v, want %v", err, errKilled)
	}
	first, err := facts.GetMany(t.Context(), []string{"home", "talks"})
	if err != nil || len(first) != 2 {
		t.Fatalf("after the first run: got %+v, %v, want two facts", first, err)
	}
	if _, err := thread.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := facts.GetMany(t.Context(), []string{"home", "talks"})
	if err != nil || runs != 2 {
		t.Errorf("the node ran %d times, %v, want 2", runs, err)
	}
	for key, it := range first {
		if got := again[key]; got.Version != it.Version || got.Value != it.Value {
			t.Errorf("%s: got %+v after the second run, want %+v: one write", key, got, it)
		}
	}
}

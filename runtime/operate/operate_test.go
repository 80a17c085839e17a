package operate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/internal/fixtures"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var approve = graph.NewQuestion[wire.String, wire.Bool]("approve")

// newApp returns a graph with the node "work", which does f.
func newApp(tb testing.TB, s checkpoint.Saver, f func(context.Context) error, opts ...graph.NodeOption) *graph.Graph[fixtures.Parcel, fixtures.ParcelUpdate] {
	tb.Helper()
	g := graph.New("parcels", fixtures.ParcelSchema)
	g.Node("work", func(ctx context.Context, _ fixtures.Parcel) (fixtures.ParcelUpdate, error) {
		return fixtures.ParcelUpdate{}, f(ctx)
	}, opts...)
	g.Chain(graph.Start, "work", graph.End)
	app, err := g.Compile(graph.Saver(s))
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

// standing returns what a thread waits for, and whether the filter for stuck threads selects it.
func standing(t *testing.T, o *operate.Operator, id string) operate.Standing {
	t.Helper()
	th, err := o.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Standing(&th, time.Now())
	if err := o.Complete(t.Context(), &th, time.Now(), &s); err != nil {
		t.Fatal(err)
	}
	stuck := false
	for _, err := range o.Threads(t.Context(), checkpoint.ThreadQuery{}, operate.Filter{Stuck: true}) {
		if stuck = true; err != nil {
			t.Fatal(err)
		}
	}
	if stuck != s.Stuck {
		t.Errorf("the filter selects a thread that waits for %q: got %t, want %t", s.Text, stuck, s.Stuck)
	}
	return s
}

// TestATaskInAQueueIsStuckUntilAWorkerTakesIt waits for a queue that nobody serves, and then for a
// worker that takes long.
func TestATaskInAQueueIsStuckUntilAWorkerTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		release := make(chan struct{})
		app := newApp(t, s, func(context.Context) error { <-release; return nil }, graph.Queue("gpu"))
		if res, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil || res.Status != graph.Waiting {
			t.Fatalf("got %v, %v; want Waiting", res.Status, err)
		}
		o := &operate.Operator{Saver: s}
		if got := standing(t, o, "t"); got.Text != "queue gpu at work" || got.Stuck || got.Since == nil {
			t.Errorf("just handed out: got %+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := standing(t, o, "t"); got.Text != "queue gpu at work, but no worker takes it" || !got.Stuck {
			t.Errorf("after 2 minutes without a worker: got %+v", got)
		}
		w := worker.New(s, worker.Options{Name: "host-7", Queues: map[string]int{"gpu": 1}}, app)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Hour)
		if got := standing(t, o, "t"); got.Text != "queue gpu at work, in progress" || got.Stuck {
			t.Errorf("after an hour on a worker: got %+v", got)
		}
		close(release)
		time.Sleep(time.Minute)
		if got := standing(t, o, "t"); got.Kind != "" || got.Stuck {
			t.Errorf("done: got %+v", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestQuestionsAndFailuresSayWhatTheyWaitFor lets a question and a failure grow old.
func TestQuestionsAndFailuresSayWhatTheyWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		o := &operate.Operator{Saver: s}
		app := newApp(t, s, func(ctx context.Context) error {
			if _, err := approve.Ask(ctx, "is it right?"); err != nil {
				return err
			}
			return errors.New("broken")
		}, approve)
		if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
		if got := standing(t, o, "t"); got.Text != "answer of approve at work" || got.Stuck {
			t.Errorf("got %+v", got)
		}
		time.Sleep(8 * 24 * time.Hour)
		if got := standing(t, o, "t"); got.Kind != operate.KindQuestion || !got.Stuck {
			t.Errorf("after 8 days: got %+v", got)
		}
		th, err := o.Find(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Answer(t.Context(), &th, "approve", operate.JSON(`"yes"`)); err == nil {
			t.Error("an answer of another type was stored")
		}
		mailless := &operate.Operator{Saver: &noMail{Saver: s}}
		if _, err := mailless.Answer(t.Context(), &th, "approve", operate.JSON(`true`)); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Answer(t.Context(), &th, "approve", operate.JSON(`true`)); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("the second answer: got %v, want ErrConflict", err)
		}
		if got := standing(t, o, "t"); got.Kind != operate.KindWorker || got.Stuck {
			t.Errorf("answered: got %+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := standing(t, o, "t"); !strings.HasPrefix(got.Text, "a worker, but none takes it") || !got.Stuck {
			t.Errorf("answered, without a worker: got %+v", got)
		}
		if _, err := app.Thread("t").Resume(t.Context()); err == nil {
			t.Fatal("the node did not fail")
		}
		if got := standing(t, o, "t"); got.Text != "gave up at work" || !got.Stuck {
			t.Errorf("failed: got %+v", got)
		}
	})
}

// noMail is a saver whose messages nobody may read.
type noMail struct{ checkpoint.Saver }

func (*noMail) Mail(context.Context, checkpoint.MailQuery) ([]checkpoint.Message, error) {
	return nil, errors.New("the messages were read")
}

// TestASignalToAKnownGraphHasTheIDOfItsMessage stores signals without and with a request id.
func TestASignalToAKnownGraphHasTheIDOfItsMessage(t *testing.T) {
	s := memory.New()
	hello := graph.NewSignal[wire.String]("hello")
	app := newApp(t, s, func(ctx context.Context) error { _, err := hello.Receive(ctx); return err }, hello)
	if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
		t.Fatal(err)
	}
	o := &operate.Operator{Saver: s, Graphs: map[string]graph.Untyped{"parcels": app.Untyped()}}
	th, err := o.Find(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, opts := range [][]graph.SignalOption{nil, {graph.RequestID("7")}} {
		p, err := o.Signal(t.Context(), &th, "hello", operate.JSON(`"ada"`), opts...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	mail, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"})
	if err != nil || len(mail) != 2 || mail[0].ID != ids[0] || mail[1].ID != ids[1] {
		t.Errorf("got the ids %q of the messages %+v, %v", ids, mail, err)
	}
	var request *operate.RequestError
	if _, err := o.Submit(t.Context(), "t", "parcels", nil, []byte("{}")); !errors.As(err, &request) {
		t.Errorf("an input without a description: got %v, want a RequestError", err)
	}
}

// Lists the threads that nobody serves, answers one, and says what it waits for then.
func Example() {
	ctx := context.Background()
	saver := memory.New()
	g := graph.New("parcels", fixtures.ParcelSchema)
	g.Node("review", func(ctx context.Context, _ fixtures.Parcel) (fixtures.ParcelUpdate, error) {
		_, err := approve.Ask(ctx, "is it right?")
		return fixtures.ParcelUpdate{}, err
	}, approve)
	g.Chain(graph.Start, "review", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := app.Thread("order-7").Invoke(ctx, fixtures.ParcelUpdate{}); err != nil {
		fmt.Println(err)
		return
	}

	o := operate.Operator{Saver: saver}
	for t, err := range o.Threads(ctx, checkpoint.ThreadQuery{}, operate.Filter{Waits: operate.KindQuestion}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.ID, "waits for", t.Wait.Text)
		if _, err := o.Answer(ctx, &t.Thread, "approve", operate.JSON("true")); err != nil {
			fmt.Println(err)
			return
		}
	}
	t, err := o.Find(ctx, "order-7")
	fmt.Println(t.ID, "waits for", o.Standing(&t, t.Now).Text, err)
	// Output:
	// order-7 waits for answer of approve at review
	// order-7 waits for a worker <nil>
}

// brokenLoads is a saver whose Load returns an error for a thread, and whose lists count.
type brokenLoads struct {
	checkpoint.Saver

	thread string
	err    error
	lists  int
}

func (s *brokenLoads) Load(ctx context.Context, ref checkpoint.Ref) (checkpoint.Chain, error) {
	if ref.Thread == s.thread {
		return checkpoint.Chain{}, s.err
	}
	return s.Saver.Load(ctx, ref)
}

func (s *brokenLoads) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	s.lists++
	return s.Saver.Threads(ctx, q)
}

// queue starts threads that wait for a queue.
func queue(t *testing.T, s checkpoint.Saver, ids ...string) {
	t.Helper()
	app := newApp(t, s, func(context.Context) error { return nil }, graph.Queue("gpu"))
	for _, id := range ids {
		if _, err := app.Thread(id).Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAListEndsAtAnErrorOfTheSaver: only an error about the data of one thread does not end it.
func TestAListEndsAtAnErrorOfTheSaver(t *testing.T) {
	s := &brokenLoads{Saver: memory.New(), thread: "b"}
	queue(t, s.Saver, "a", "b", "c")
	o := &operate.Operator{Saver: s}
	for err, want := range map[error]string{
		checkpoint.ErrDamaged:    "a, b!, c",
		encrypt.ErrNoKey:         "a, b!, c",
		checkpoint.ErrNotFound:   "a, c",
		context.DeadlineExceeded: "a, !",
	} {
		s.err = fmt.Errorf("load: %w", err)
		var got []string
		for th, err := range o.Threads(t.Context(), checkpoint.ThreadQuery{Order: checkpoint.ByID}, operate.Filter{Waits: operate.KindQueue}) {
			if err != nil {
				th.ID += "!"
			}
			got = append(got, th.ID)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}

// TestALookAtManyTasksIsBounded sends a task to a queue 30 times.
func TestALookAtManyTasksIsBounded(t *testing.T) {
	s := &brokenLoads{Saver: memory.New()}
	g := graph.New("parcels", fixtures.ParcelSchema)
	nothing := func(context.Context, fixtures.Parcel) (fixtures.ParcelUpdate, error) {
		return fixtures.ParcelUpdate{}, nil
	}
	for i := range 30 {
		name := graph.ID(fmt.Sprint("work", i))
		g.Node(name, nothing, graph.Queue("gpu"))
		g.Chain(graph.Start, name, graph.End)
	}
	app, err := g.Compile(graph.Saver(s.Saver))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
		t.Fatal(err)
	}
	o := &operate.Operator{Saver: s}
	th, err := o.Find(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	s.lists = 0
	st := o.Standing(&th, th.Now)
	if err := o.Complete(t.Context(), &th, th.Now, &st); err != nil || s.lists != 10 || !strings.HasSuffix(st.Text, "and 29 more") {
		t.Errorf("got %q after %d finds, %v; want 10 finds, and 29 more", st.Text, s.lists, err)
	}
	s.lists = 0
	if all, err := o.Waits(t.Context(), &th, true); err != nil || len(all) != 30 || s.lists != 30 {
		t.Errorf("got %d waits after %d finds, %v; want 30", len(all), s.lists, err)
	}
}

// TestASearchFindsThreadsByNodeAndError has threads that have failed at two nodes, one that waits,
// and one that is done.
func TestASearchFindsThreadsByNodeAndError(t *testing.T) {
	s := memory.New()
	g := graph.New("parcels", fixtures.ParcelSchema)
	at := func(node graph.ID) func(context.Context, fixtures.Parcel) (fixtures.ParcelUpdate, error) {
		return func(ctx context.Context, _ fixtures.Parcel) (u fixtures.ParcelUpdate, err error) {
			id := graph.CurrentTask(ctx).Thread
			if id == "waits" && node == "send" {
				_, err = approve.Ask(ctx, "is it right?")
			} else if strings.HasPrefix(id, string(node)) {
				err = fmt.Errorf("the Broker refuses %s", id)
			}
			return u, err
		}
	}
	g.Node("pack", at("pack"))
	g.Node("send", at("send"), approve)
	g.Chain(graph.Start, "pack", "send", graph.End)
	app, err := g.Compile(graph.Saver(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"pack-1", "send-1", "send-2", "waits", "done"} {
		if _, err := app.Thread(id).Invoke(t.Context(), fixtures.ParcelUpdate{}); (err != nil) != strings.Contains(id, "-") {
			t.Fatalf("%s: %v", id, err)
		}
	}
	o := &operate.Operator{Saver: s}
	for _, c := range []struct {
		operate.Selection
		want string
	}{
		{operate.Selection{Filter: operate.Filter{Node: "send"}}, "waits send-2 send-1"},
		{operate.Selection{Filter: operate.Filter{Node: "pack"}}, "pack-1"},
		{operate.Selection{Filter: operate.Filter{Error: "broker REFUSES"}}, "send-2 send-1 pack-1"},
		{operate.Selection{Filter: operate.Filter{Node: "send", Error: "broker"}}, "send-2 send-1"},
		{operate.Selection{Filter: operate.Filter{Node: "send", Text: "wait"}}, "waits"},
		{operate.Selection{Filter: operate.Filter{Error: "send-1"}, Status: "failed"}, "send-1"},
		{operate.Selection{Filter: operate.Filter{Error: "timeout"}}, ""},
	} {
		q, err := c.Query(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for th, err := range o.Threads(t.Context(), q, c.Filter) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, th.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %q, want %q", c.Filter, got, c.want)
		}
	}
	var request *operate.RequestError
	wrong := operate.Selection{Status: "waiting", Filter: operate.Filter{Error: "broker"}}
	if _, err := wrong.Query(time.Time{}); !errors.As(err, &request) {
		t.Errorf("an error of waiting threads: got %v, want a RequestError", err)
	}
}

// TestASearchEndsAfterItsBound has one failed thread more than a search reads.
func TestASearchEndsAfterItsBound(t *testing.T) {
	s := memory.New()
	app := newApp(t, s, func(context.Context) error { return errors.New("broken") })
	if _, err := app.Thread("0").Invoke(t.Context(), fixtures.ParcelUpdate{}); err == nil {
		t.Fatal("the node did not fail")
	}
	for n := 1; n <= operate.Searched; n++ {
		if err := checkpoint.Copy(t.Context(), s, "0", 1, s, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	o, found := &operate.Operator{Saver: s}, 0
	var end *operate.SearchError
	for th, err := range o.Threads(t.Context(), checkpoint.ThreadQuery{Status: graph.Failed}, operate.Filter{Error: "broken"}) {
		if end != nil {
			t.Fatalf("after its end, the list yields %+v, %v", th, err)
		}
		if err == nil {
			found++
		} else if !errors.As(err, &end) {
			t.Fatal(err)
		}
	}
	if found != operate.Searched || end == nil || end.After.ID == "" {
		t.Errorf("found %d threads, and the end %v; want %d and a SearchError", found, end, operate.Searched)
	}
}

// TestASearchByErrorReportsErrorsThatAreLocked has a key for nothing. The reason is no error of a
// task, so no search finds it.
func TestASearchByErrorReportsErrorsThatAreLocked(t *testing.T) {
	s := memory.New()
	app := newApp(t, s, func(context.Context) error { return errors.New("broken") })
	if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err == nil {
		t.Fatal("the node did not fail")
	}
	o := &operate.Operator{Saver: s, Explain: func([]byte) error { return errors.New("pass the key") }}
	for _, c := range []struct {
		operate.Filter
		locked bool
	}{{operate.Filter{Error: "broken"}, true}, {operate.Filter{Error: "key"}, true}, {operate.Filter{Node: "work"}, false}} {
		listed := 0
		for th, err := range o.Threads(t.Context(), checkpoint.ThreadQuery{Status: graph.Failed}, c.Filter) {
			listed++
			if locked := errors.As(err, new(*operate.LockedError)); locked != c.locked || th.ID != "t" || !locked && err != nil {
				t.Errorf("%+v: got %q, %v; want t, and that it is locked: %t", c.Filter, th.ID, err, c.locked)
			}
		}
		if listed != 1 {
			t.Errorf("%+v: got %d threads, want 1", c.Filter, listed)
		}
	}
}

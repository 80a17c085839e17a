package shards_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/rows"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// disks are the storages of shards, by name.
type disks map[string]*memrows.Store

// list returns a list of shards by their names. Those that end with " drained" have that weight.
// by makes the calls of their storages; nil makes them directly.
func (d disks) list(by func(op string, call func() error) error, names ...string) (all []shards.Shard) {
	for _, name := range names {
		weight := 1
		if rest, drained := strings.CutSuffix(name, " drained"); drained {
			name, weight = rest, shards.Drained
		}
		if d[name] == nil {
			d[name] = memrows.New()
		}
		sh := onRows(name, d[name])
		if by != nil {
			sh = onRows(name, &disturbed{d[name], by})
		}
		sh.Weight = weight
		all = append(all, sh)
	}
	return all
}

// disturbed is a Store whose calls a function makes.
type disturbed struct {
	rows.Store
	by func(op string, call func() error) error
}

func (s *disturbed) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	err = s.by("read", func() (err error) {
		all, now, err = s.Store.Read(ctx, ranges...)
		return err
	})
	return all, now, err
}

func (s *disturbed) Apply(ctx context.Context, c *rows.Change) (rev uint64, all [][]rows.Row, err error) {
	err = s.by("apply", func() (err error) {
		rev, all, err = s.Store.Apply(ctx, c)
		return err
	})
	return rev, all, err
}

// open opens a saver over shards until the test ends.
func (d disks) open(t *testing.T, names ...string) *shards.Saver {
	t.Helper()
	return opens(t, d.list(nil, names...))
}

func opens(t *testing.T, all []shards.Shard) *shards.Saver {
	t.Helper()
	s, err := shards.Open(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// places returns the threads with a row of each storage.
func (d disks) places(t *testing.T) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for name, store := range d {
		found, err := rows.Walk(t.Context(), rows.New(name, store, rows.Options{}), "", 10_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if id := f.ID; id != "__shards" {
				if f.Stage != 0 {
					id += " " + f.Stage.String()
				}
				all[name] = append(all[name], id)
			}
		}
	}
	return all
}

// wantPlaces fails unless each thread is on its shard, and nowhere else.
func (d disks) wantPlaces(t *testing.T, s *shards.Saver, threads []string) {
	t.Helper()
	want := make(map[string][]string)
	for _, id := range threads {
		want[s.Shard(id)] = append(want[s.Shard(id)], id)
	}
	for _, all := range want {
		slices.Sort(all)
	}
	if diff := cmp.Diff(want, d.places(t)); diff != "" {
		t.Errorf("the places of the threads differ (-want +got):\n%s", diff)
	}
}

// ids returns n ids with a prefix.
func ids(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

func announce(t *testing.T, all []shards.Shard) {
	t.Helper()
	if err := shards.Announce(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

// TestRebalanceUnderLoad adds a shard and then drains one, while workers run threads that have
// children and tasks of queues. Two processes rebalance at the same time.
func TestRebalanceUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		before := d.open(t, "a", "b")
		post(t, before, "idle", "mail")
		for i, change := range [][]string{{"a", "b", "c"}, {"a drained", "b", "c"}} {
			announce(t, d.list(nil, change...))
			s, other := d.open(t, change...), d.open(t, change...)
			ctx, cancel := context.WithCancel(t.Context())
			o := newOffice(t, s, "child-of-{}")
			var runs, movers sync.WaitGroup
			runs.Go(func() {
				if err := worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, o.parent, o.child).Run(ctx); err != nil {
					t.Error(err)
				}
			})
			var moved atomic.Int64
			report := func(p shards.Phase, n int) {
				if p == shards.Moving {
					moved.Add(int64(n))
				}
			}
			movers.Go(func() {
				if err := s.Rebalance(t.Context(), shards.Rebalancing{Rate: 2, Report: report}); err != nil {
					t.Error(err)
				}
			})
			movers.Go(func() {
				if err := other.Rebalance(t.Context(), shards.Rebalancing{Parallel: 1, Report: report}); err != nil {
					t.Error(err)
				}
			})
			threads := ids(fmt.Sprint("parent", i, "-"), 60)
			for _, id := range threads {
				if _, err := o.parent.Thread(id).Submit(ctx, OrderUpdate{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // before, in and after the moves
			}
			for _, id := range threads {
				res, err := o.parent.Thread(id).Result(ctx)
				if want := []string{"read", "heavy", "end"}; err != nil || !slices.Equal(res.State.Log, want) {
					t.Fatalf("%s: got %q and %v, want %q", id, res.State.Log, err, want)
				}
			}
			movers.Wait()
			cancel()
			runs.Wait()
			all, err := listed(t, s, checkpoint.ThreadQuery{})
			if err != nil || moved.Load() == 0 {
				t.Fatalf("got %v after %d moves", err, moved.Load())
			}
			tasks, err := listed(t, s, checkpoint.ThreadQuery{Prefix: checkpoint.TaskPrefix})
			if err != nil {
				t.Fatal(err)
			}
			d.wantPlaces(t, s, append(all, tasks...))
		}
		if got := d.places(t)["a"]; len(got) > 0 {
			t.Errorf("the shard that was drained has %q, want nothing", got)
		}
		d.open(t, "b", "c")
		for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"b"}} {
			if _, err := shards.Open(t.Context(), d.list(nil, names...)...); !errors.As(err, new(*shards.LayoutError)) {
				t.Errorf("the list %q: got %v, want a *LayoutError", names, err)
			}
		}
	})
}

// TestRebalanceDiesAtEachCall kills a process that rebalances before or after each call of its
// storages. Another one continues. All threads are there, on their shards, and the next change can
// begin.
func TestRebalanceDiesAtEachCall(t *testing.T) {
	dead := errors.New("the process is dead")
	points := 0
	for _, after := range []bool{false, true} {
		for _, list := range [][]string{{"a drained", "b", "c"}, {"a drained", "b drained", "c"}} {
			step := 1
			if testing.Short() {
				step = 7
			}
			for at, over := 1, false; !over; at += step {
				points++
				synctest.Test(t, func(t *testing.T) {
					d := disks{}
					threads := ids("t", 6)
					post(t, d.open(t, "a", "b"), threads...)
					calls := 0
					var mu sync.Mutex
					die := func(_ string, call func() error) error {
						mu.Lock()
						calls++
						n := calls
						mu.Unlock()
						if n < at || n == at && after {
							if err := call(); n < at {
								return err
							}
						}
						return dead
					}
					over = rebalance(t.Context(), d.list(die, list...)) == nil
					if err := rebalance(t.Context(), d.list(nil, list...)); err != nil {
						t.Fatalf("dead at call %d, after it %v: %v", at, after, err)
					}
					s := d.open(t, list...)
					d.wantPlaces(t, s, threads)
					got, err := s.News(t.Context(), threads)
					if err != nil || slices.ContainsFunc(got, func(n checkpoint.News) bool { return n.Inputs != 1 }) {
						t.Errorf("dead at call %d, after it %v: got %v and %v, want an input of each thread", at, after, got, err)
					}
					announce(t, d.list(nil, "a", "b", "c drained"))
				})
			}
		}
	}
	t.Logf("%d deaths", points)
}

// rebalance changes the layout to a list, if it has another one.
func rebalance(ctx context.Context, all []shards.Shard) error {
	err := shards.Announce(ctx, all...)
	s, failed := shards.Open(ctx, all...)
	if failed != nil {
		return errors.Join(err, failed)
	}
	defer func() { _ = s.Close() }()
	return s.Rebalance(ctx, shards.Rebalancing{})
}

// TestListsAreWholeWhileThreadsMove reads lists before each call of a process that rebalances.
func TestListsAreWholeWhileThreadsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		threads := ids("t", 12)
		post(t, d.open(t, "a", "b"), threads...)
		slices.Sort(threads)
		announce(t, d.list(nil, "a drained", "b", "c"))
		reader := d.open(t, "a drained", "b", "c")
		lists := 0
		var mu sync.Mutex
		look := func(_ string, call func() error) error {
			mu.Lock()
			defer mu.Unlock()
			for what, q := range map[string]checkpoint.ThreadQuery{
				"all": {}, "newest": {Order: checkpoint.NewestFirst}, "graph": {Graph: "g"}, "brief": {Status: checkpoint.Ready, Brief: true},
				"prefix": {Prefix: "t", Released: true},
			} {
				lists++
				got, err := listed(t, reader, q)
				if slices.Sort(got); err != nil || !slices.Equal(got, threads) {
					t.Fatalf("list %d, %s: got %q and %v, want each thread once", lists, what, got, err)
				}
			}
			due, err := reader.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 100})
			if err != nil || len(due.Threads) < len(threads)-8 || len(due.Threads) > len(threads) {
				t.Fatalf("ready: got %d threads and %v, want all that do not move", len(due.Threads), err)
			}
			return call()
		}
		if err := rebalance(t.Context(), d.list(look, "a drained", "b", "c")); err != nil && !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Fatal(err)
		}
		t.Logf("%d lists", lists)
	})
}

// TestAListIsPartialIfANewPlaceIsDown lists threads. One of them has moved to a shard that fails.
func TestAListIsPartialIfANewPlaceIsDown(t *testing.T) {
	d, down := disks{}, false
	all := append(d.list(nil, "a", "b"), d.list(func(_ string, call func() error) error {
		if down {
			return errDown
		}
		return call()
	}, "c")...)
	s, err := moving(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	threads := ids("t", 3)
	post(t, rows.New("a", d["a"], rows.Options{}), threads...)
	places, err := s.Places(t.Context())
	if err == nil {
		err = rows.Move(t.Context(), places[0], places[2], threads[1])
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, isDown := range []bool{false, true} {
		down = isDown
		got, err := listed(t, s, checkpoint.ThreadQuery{})
		if down && (len(got) != 2 || !errors.Is(err, checkpoint.ErrPartial)) || !down && (len(got) != 3 || err != nil) {
			t.Errorf("down %v: got %q and %v", down, got, err)
		}
	}
}

// TestHistoryGoesOnAtTheNewPlace moves a thread while a history of it is read.
func TestHistoryGoesOnAtTheNewPlace(t *testing.T) {
	d := disks{}
	s, err := moving(t.Context(), d.list(nil, "a", "b", "c")...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, _ := checkpoint.NewID()
	const n = 200
	for i, last := 0, first; i < n; i++ {
		a := checkpoint.Append{Thread: "t", Fence: first, After: last, Records: []checkpoint.Record{{Parent: last, Source: checkpoint.Loop}}}
		if i == 0 {
			a.Open, a.After, a.Fence, a.Records[0] = &checkpoint.Opening{}, checkpoint.ID{}, checkpoint.ID{}, checkpoint.Record{ID: first, Source: checkpoint.Input, Snapshot: true}
		} else {
			last, _ = checkpoint.NewID()
			a.Records[0].ID = last
		}
		a.Records[0].Base = a.Records[0].ID
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{0, n - 50} {
		want, got := n, 0
		if limit > 0 {
			want = limit
		}
		var before uint64
		for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{Limit: limit}) {
			if err != nil || got > 0 && r.Seq != before-1 {
				t.Fatalf("record %d: got the number %d after %d, and %v", got, r.Seq, before, err)
			}
			before = r.Seq
			if got++; got%50 == 0 { // it moves on
				for _, src := range all {
					for _, dst := range all {
						if src.Name != dst.Name && dst.Name != s.Shard("t") && got%100 == len(dst.Name)*50-50 {
							if err := rows.Move(t.Context(), src, dst, "t"); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
			}
		}
		if got != want {
			t.Errorf("got %d records, want %d", got, want)
		}
	}
}

// TestASlowProcessCreatesAThreadAtItsOldPlace stops a call that creates a thread until all threads
// have moved. The second walk moves this one, too.
func TestASlowProcessCreatesAThreadAtItsOldPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		slow := false
		sleep := func(op string, call func() error) error {
			if op == "apply" && slow {
				slow = false
				time.Sleep(50 * time.Second)
			}
			return call()
		}
		before := opens(t, d.list(sleep, "a"))
		announce(t, d.list(nil, "a drained", "c"))
		var mover sync.WaitGroup
		mover.Go(func() {
			s := d.open(t, "a drained", "c")
			if err := s.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
				t.Error(err)
			}
		})
		slow = true
		post(t, before, "stray")
		mover.Wait()
		s := d.open(t, "c")
		d.wantPlaces(t, s, []string{"stray"})
		post(t, s, "stray") // the same input: it is known
		if news, err := s.News(t.Context(), []string{"stray"}); err != nil || news[0].Inputs != 1 {
			t.Errorf("got %v and %v, want one input", news, err)
		}
	})
}

// TestAProcessWithTheOldList has a process that does not have the new shard. It serves the threads
// that stay, and says which shard it lacks.
func TestAProcessWithTheOldList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		old := d.open(t, "a", "b")
		threads := ids("t", 20)
		post(t, old, threads...)
		announce(t, d.list(nil, "a", "b", "c"))
		post(t, old, "new")
		post(t, d.open(t, "a", "b"), "newer") // nothing moves yet
		s := d.open(t, "a", "b", "c")
		if err := s.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
			t.Fatal(err)
		}
		here, lacks := 0, 0
		for _, id := range append(threads, "another") {
			posted, err := old.Post(t.Context(), input(id))
			if err == nil {
				err = posted[0].Err
			}
			var failed *shards.ShardError
			switch {
			case s.Shard(id) != "c" && err == nil:
				here++
			case s.Shard(id) == "c" && errors.As(err, &failed) && failed.Shard == "c":
				lacks++
			default:
				t.Errorf("a post to %s on %s: got %v", id, s.Shard(id), err)
			}
		}
		if here == 0 || lacks == 0 {
			t.Errorf("got %d threads on old shards and %d on the new one, want some of both", here, lacks)
		}
		_, err := listed(t, old, checkpoint.ThreadQuery{})
		_, failed := old.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9})
		for what, err := range map[string]error{"list": err, "ready": failed} {
			var lacks *shards.ShardError
			if !errors.Is(err, checkpoint.ErrPartial) || !errors.As(err, &lacks) || lacks.Shard != "c" {
				t.Errorf("%s: got %v, want ErrPartial, because the process lacks c", what, err)
			}
		}
		if _, err := shards.Open(t.Context(), d.list(nil, "a", "b")...); !errors.As(err, new(*shards.LayoutError)) {
			t.Errorf("got %v, want a *LayoutError", err)
		}
	})
}

// TestAProcessWithoutAnyShardOfTheLayout has a list all of whose shards were drained.
func TestAProcessWithoutAnyShardOfTheLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		old := d.open(t, "a")
		post(t, old, ids("t", 3)...)
		if err := rebalance(t.Context(), d.list(nil, "a drained", "c")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		_, listing := listed(t, old, checkpoint.ThreadQuery{})
		_, listing2 := listed(t, old, checkpoint.ThreadQuery{})
		_, due := old.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 9})
		_, layout := old.Layout(t.Context())
		for what, err := range map[string]error{"a list": listing, "another list": listing2, "ready": due, "layout": layout, "rebalance": old.Rebalance(t.Context(), shards.Rebalancing{})} {
			var lacks *shards.ShardError
			if !errors.As(err, &lacks) || lacks.Shard != "c" {
				t.Errorf("%s: got %v, want a *ShardError of the shard that the process lacks", what, err)
			}
		}
	})
}

// TestAProcessThatIsIdleDuringAChange makes its first calls in each phase of a change that it has
// not heard of.
func TestAProcessThatIsIdleDuringAChange(t *testing.T) {
	calls := map[string]func(t *testing.T, s *shards.Saver, threads []string) error{
		"post": func(t *testing.T, s *shards.Saver, threads []string) error {
			t.Helper()
			var all []checkpoint.Post
			for _, id := range threads {
				all = append(all, input(id))
			}
			posted, err := s.Post(t.Context(), all...)
			for i := range posted {
				if err == nil && !posted[i].Messages[0].Known {
					err = fmt.Errorf("%s: %+v", threads[i], posted[i])
				}
			}
			return err
		},
		"news": func(t *testing.T, s *shards.Saver, threads []string) error {
			t.Helper()
			news, err := s.News(t.Context(), threads)
			if err == nil && slices.ContainsFunc(news, func(n checkpoint.News) bool { return n.Inputs != 1 }) {
				err = fmt.Errorf("got %+v", news)
			}
			return err
		},
		"list": func(t *testing.T, s *shards.Saver, threads []string) error {
			t.Helper()
			got, err := listed(t, s, checkpoint.ThreadQuery{})
			if slices.Sort(threads); err == nil && !slices.Equal(got, threads) {
				err = fmt.Errorf("got %q", got)
			}
			return err
		},
		"mail": func(t *testing.T, s *shards.Saver, threads []string) error {
			t.Helper()
			for _, id := range threads {
				if mail, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: id}); err != nil || len(mail) != 1 {
					return fmt.Errorf("%s: got %v and %w", id, mail, err)
				}
			}
			return nil
		},
	}
	for what, call := range calls {
		for phase := shards.Moving; phase <= shards.Done; phase++ {
			synctest.Test(t, func(t *testing.T) {
				d := disks{}
				idle := d.open(t, "a", "b")
				post(t, idle, "before")
				announce(t, d.list(nil, "a drained", "b"))
				s := d.open(t, "a drained", "b")
				if phase == shards.Done {
					if err := s.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
						t.Fatal(err)
					}
				}
				for p := shards.Announced; p < phase && phase < shards.Done; p++ {
					if err := s.Advance(t.Context()); err != nil {
						t.Fatal(err)
					}
					all, err := s.Places(t.Context())
					if err == nil {
						err = rows.Move(t.Context(), all[0], all[1], "before")
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				threads := append(ids("t", 20), "before")
				post(t, s, threads[:20]...)
				if err := call(t, idle, threads); err != nil {
					t.Errorf("%s in the phase %s: %v", what, phase, err)
				}
				post(t, opens(t, d.list(nil, "a drained", "b")), "late") // and the first call of a new process
			})
		}
	}
}

// TestNewThreadsAreClaimed creates a thread in each phase of a change that gives it another shard.
func TestNewThreadsAreClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		all := []*shards.Saver{d.open(t, "a", "b")}
		announce(t, d.list(nil, "a drained", "b drained", "c"))
		s := d.open(t, "a drained", "b drained", "c")
		all = append(all, d.open(t, "a drained", "b drained", "c"), s)
		for p := shards.Announced; p < shards.Done; p++ {
			id := p.String()
			post(t, all[2], id)
			post(t, all[1], id) // another process knows it
			want := map[shards.Phase][]string{
				shards.Announced: {"", id}, shards.Moving: {id, id + " left"}, shards.Moved: {id, id + " left"}, shards.Sweeping: {id, ""},
			}[p]
			places := d.places(t)
			var got [2]string
			for name, threads := range places {
				for _, thread := range threads {
					if found, _, _ := strings.Cut(thread, " "); found == id {
						got[boolIndex(name != "c")] = thread
					}
				}
			}
			if !slices.Equal(got[:], want) {
				t.Errorf("phase %s: got %q at the new and the old place, want %q", p, got, want)
			}
			if err := s.Advance(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// boolIndex returns 1 for true.
func boolIndex(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestALayoutInAChange opens lists in the phases of a change, and announces others.
func TestALayoutInAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		d.open(t, "a", "b")
		refused := func(what, want string, all ...shards.Shard) {
			t.Helper()
			if err := shards.Announce(t.Context(), all...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", what, err, want)
			}
		}
		refused("the same", "another layout", d.list(nil, "a", "b")...)
		refused("without b", `does not have shard "b"`, d.list(nil, "a", "c")...)
		refused("memory", "cannot move", append(d.list(nil, "a", "b"), on("m", memory.New()))...)
		used := memrows.New()
		post(t, rows.New("used", used, rows.Options{}), "t")
		d["used"] = used
		refused("used", "has threads, and no layout", d.list(nil, "a", "b", "used")...)
		announce(t, d.list(nil, "a", "b", "x"))
		announce(t, d.list(nil, "a", "b", "c")) // in its place
		s := d.open(t, "a", "b", "c")
		if err := s.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused("another", "phase \"moving\"", d.list(nil, "a", "b", "c", "e")...)
		got, err := s.Layout(t.Context())
		want := shards.Layout{Shards: []shards.Place{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}, Phase: shards.Moving}
		want.To = append(slices.Clone(want.Shards), shards.Place{Name: "c", Weight: 1})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("the layout differs (-want +got):\n%s\n%v", diff, err)
		}
		if err := s.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
			t.Fatal(err)
		}
		if got, err = s.Layout(t.Context()); err != nil || got.To != nil || got.Phase != shards.Done || len(got.Shards) != 3 {
			t.Errorf("got the layout %v and %v, want the new one", got, err)
		}
	})
}

// TestALayoutCostsNoRoundTrips compares the calls of a storage with and without shards.
func TestALayoutCostsNoRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := make(map[string]int)
		by := func(op string, call func() error) error {
			counts[op]++
			return call()
		}
		work := func(s checkpoint.Saver) map[string]int {
			clear(counts)
			for _, id := range ids("t", 20) {
				post(t, s, id)
				first, _ := checkpoint.NewID()
				_, err := s.Append(t.Context(), checkpoint.Append{Thread: id, Open: &checkpoint.Opening{}, Records: []checkpoint.Record{
					{ID: first, Base: first, Source: checkpoint.Input, Graph: "g", Snapshot: true},
				}})
				if err == nil {
					_, err = s.Mail(t.Context(), checkpoint.MailQuery{Thread: id})
				}
				if err == nil {
					_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: id, Fence: first, End: true, Status: checkpoint.Done})
				}
				if err == nil {
					_, err = s.Load(t.Context(), checkpoint.Ref{Thread: id})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return map[string]int{"read": counts["read"], "apply": counts["apply"]}
		}
		want := work(rows.New("plain", &disturbed{memrows.New(), by}, rows.Options{}))
		s := opens(t, disks{}.list(by, "a"))
		if diff := cmp.Diff(want, work(s)); diff != "" {
			t.Errorf("the calls of the storage differ (-without shards +with):\n%s", diff)
		}
	})
}

// TestAListOfAnOldLayout lists threads by a process that has not heard that a shard of its list
// has threads again.
func TestAListOfAnOldLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		threads := ids("t", 12)
		slices.Sort(threads)
		post(t, d.open(t, "b"), threads...)
		idle := d.open(t, "a drained", "b")
		if err := rebalance(t.Context(), d.list(nil, "a", "b")); err != nil {
			t.Fatal(err)
		}
		if places := d.places(t); len(places["a"]) == 0 || len(places["b"]) == 0 {
			t.Fatalf("got the places %q, want threads on both shards", places)
		}
		if got, err := listed(t, idle, checkpoint.ThreadQuery{}); err != nil || !slices.Equal(got, threads) {
			t.Errorf("got %q and %v, want all threads", got, err)
		}
	})
}

// TestAListIsPartialIfItsThreadsMove changes the layout while a list is read.
func TestAListIsPartialIfItsThreadsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		post(t, d.open(t, "a", "b"), ids("t", 12)...)
		announce(t, d.list(nil, "a drained", "b drained", "c"))
		s := d.open(t, "a drained", "b drained", "c")
		var last error
		n := 0
		for _, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if n++; n == 1 {
				if err := s.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
					t.Fatal(err)
				}
			}
			last = err
		}
		if !errors.Is(last, checkpoint.ErrPartial) {
			t.Errorf("got %v, want ErrPartial", last)
		}
	})
}

// TestRebalanceWithTheOldList is called by a process that lacks a shard of the new layout.
func TestRebalanceWithTheOldList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		old := d.open(t, "a") // without threads: nothing would have to move
		announce(t, d.list(nil, "a", "c"))
		var lacks *shards.ShardError
		if err := old.Rebalance(t.Context(), shards.Rebalancing{}); !errors.As(err, &lacks) || lacks.Shard != "c" {
			t.Errorf("got %v, want a *ShardError of the shard that the process lacks", err)
		}
		l, err := d.open(t, "a", "c").Layout(t.Context())
		if err != nil || l.Phase != shards.Announced {
			t.Errorf("got the layout %+v and %v, want it as it was announced", l, err)
		}
		if got, err := old.Layout(t.Context()); err != nil || got.Phase != shards.Announced {
			t.Errorf("got the layout %+v and %v in the old process", got, err)
		}
	})
}

// TestAMoverEndsAChangeWithoutAShardThatWasDown opens a list of shards while the one that was
// drained is down. All but one of the others have the last phase.
func TestAMoverEndsAChangeWithoutAShardThatWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, down := disks{}, errors.New("the shard is down")
		threads := ids("t", 6)
		post(t, d.open(t, "a", "b", "c"), threads...)
		announce(t, d.list(nil, "a", "b drained", "c"))
		full := false
		s := opens(t, append(d.list(nil, "a", "b drained"), d.list(func(op string, call func() error) error {
			if full && op == "apply" {
				return down
			}
			return call()
		}, "c")...))
		err := s.Rebalance(t.Context(), shards.Rebalancing{Report: func(phase shards.Phase, _ int) { full = phase == shards.Sweeping }})
		if !errors.Is(err, down) {
			t.Fatalf("got %v, want the error of the last phase", err)
		}
		isDown := true
		next := opens(t, append(d.list(nil, "a", "c"), d.list(func(_ string, call func() error) error {
			if isDown {
				return down
			}
			return call()
		}, "b drained")...))
		if err := next.Rebalance(t.Context(), shards.Rebalancing{}); !errors.Is(err, down) {
			t.Errorf("got %v, want the error of the shard", err)
		}
		isDown = false
		if err := next.Rebalance(t.Context(), shards.Rebalancing{}); err != nil {
			t.Error(err)
		}
		d.wantPlaces(t, d.open(t, "a", "c"), threads)
	})
}

// TestAShardThatHasLostItsLayout gives an empty storage as a shard that is drained.
func TestAShardThatHasLostItsLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		post(t, d.open(t, "a", "b"), ids("t", 6)...)
		announce(t, d.list(nil, "a drained", "b"))
		d["a"] = memrows.New()
		s := d.open(t, "a drained", "b")
		_, err := s.Layout(t.Context())
		for _, err := range []error{err, s.Rebalance(t.Context(), shards.Rebalancing{})} {
			if err == nil || !strings.Contains(err.Error(), `shard "a" has no layout`) {
				t.Errorf("got %v, want an error that names the shard", err)
			}
		}
	})
}

// TestTwoChangesAtTheSameTime announces a change to x. Then Announce of y, or Rebalance, is called
// before each call of the storages in the other. One of them is refused. All threads are there
// after the change that is left.
func TestTwoChangesAtTheSameTime(t *testing.T) {
	x, y := []string{"a drained", "b", "c"}, []string{"a", "b drained", "e"}
	for _, what := range []string{"announce in rebalance", "rebalance in announce", "announce in announce"} {
		for at, over := 1, false; !over; at++ {
			synctest.Test(t, func(t *testing.T) {
				d, threads := disks{}, ids("t", 6)
				post(t, d.open(t, "a", "b"), threads...)
				announce(t, d.list(nil, x...))
				call := func(name string, by func(string, func() error) error) error {
					if name == "announce" {
						return shards.Announce(t.Context(), d.list(by, y...)...)
					}
					s, err := shards.Open(t.Context(), d.list(by, x...)...)
					if err != nil {
						return err
					}
					return errors.Join(s.Rebalance(t.Context(), shards.Rebalancing{}), s.Close())
				}
				second, first, _ := strings.Cut(what, " in ")
				var calls atomic.Int64
				var inner error
				outer := call(first, func(_ string, do func() error) error {
					if calls.Add(1) == int64(at) {
						inner = call(second, nil)
					}
					return do()
				})
				over = calls.Load() < int64(at)
				what := fmt.Sprintf("%s, at call %d: got %v and %v", what, at, inner, outer)
				for _, err := range []error{inner, outer} {
					var layout *shards.LayoutError
					lacks := errors.Is(err, checkpoint.ErrUnavailable) || err != nil && strings.Contains(err.Error(), `does not have shard "c"`)
					if err != nil && !errors.Is(err, shards.ErrChanging) && !errors.As(err, &layout) && !lacks {
						t.Errorf("%s, want ErrChanging, or what the list lacks", what)
					}
				}
				if inner != nil && outer != nil || first != second && !over && inner == nil && outer == nil {
					t.Fatalf("%s, want one error", what)
				}
				list, end := x, []string{"b", "c"}
				if first == "announce" && outer == nil || second == "announce" && inner == nil && !over {
					list, end = y, []string{"a", "e"}
				}
				if err := rebalance(t.Context(), d.list(nil, list...)); err != nil {
					t.Fatalf("%s, and %v after it", what, err)
				}
				d.wantPlaces(t, d.open(t, end...), threads)
			})
		}
	}
}

// TestAMoverSleepsDuringOtherChanges stops a process that rebalances at each of its calls. Others
// make the change and another one. The process wakes up after that, or in a third change, and
// neither moves a thread by the old change nor hides one.
func TestAMoverSleepsDuringOtherChanges(t *testing.T) {
	for _, third := range []bool{false, true} {
		for at, over := 1, false; !over; at++ {
			synctest.Test(t, func(t *testing.T) {
				d, threads := disks{}, ids("t", 6)
				post(t, d.open(t, "a", "b"), threads...)
				announce(t, d.list(nil, "a drained", "b", "c"))
				var calls atomic.Int64
				awake := make(chan struct{})
				sleep := func(_ string, call func() error) error {
					if calls.Add(1) == int64(at) {
						<-awake
					}
					return call()
				}
				var mover sync.WaitGroup
				mover.Go(func() {
					s, err := shards.Open(t.Context(), d.list(sleep, "a drained", "b", "c")...)
					if err == nil {
						_ = s.Rebalance(t.Context(), shards.Rebalancing{Parallel: 1}) // others have made the change
						_ = s.Close()
					}
				})
				time.Sleep(10 * time.Minute)
				over = calls.Load() < int64(at)
				for _, change := range [][]string{{"a drained", "b", "c"}, {"a", "b", "c drained"}} {
					if err := rebalance(t.Context(), d.list(nil, change...)); err != nil {
						t.Fatalf("asleep at call %d: %v", at, err)
					}
				}
				wakes := sync.OnceFunc(func() {
					close(awake)
					mover.Wait()
				})
				end := []string{"a", "b"}
				if third {
					announce(t, d.list(nil, "a drained", "b", "e"))
					s := d.open(t, "a drained", "b", "e")
					err := s.Rebalance(t.Context(), shards.Rebalancing{Report: func(phase shards.Phase, _ int) {
						if wakes(); phase > shards.Moving {
							return
						}
						news, err := s.News(t.Context(), threads)
						if err != nil || slices.ContainsFunc(news, func(n checkpoint.News) bool { return n.Inputs != 1 }) {
							t.Errorf("got %v and %v while threads move, want an input of each thread", news, err)
						}
					}})
					if err != nil {
						t.Error(err)
					}
					end = []string{"b", "e"}
				}
				wakes()
				d.wantPlaces(t, d.open(t, end...), threads)
				if t.Failed() {
					t.Fatalf("asleep at call %d", at)
				}
			})
		}
	}
}

// TestAMoverMeetsThreadsThatArrive rebalances by two processes. The calls of the first one take
// longer. So the second one finds threads on their way to the first shard.
func TestAMoverMeetsThreadsThatArrive(t *testing.T) {
	for begins := range 10 {
		synctest.Test(t, func(t *testing.T) {
			d, threads := disks{}, ids("t", 100)
			post(t, d.open(t, "b", "c"), threads...)
			list := []string{"a", "b drained", "c"}
			announce(t, d.list(nil, list...))
			var movers sync.WaitGroup
			for i, takes := range []time.Duration{5 * time.Millisecond, time.Millisecond} {
				slow := func(_ string, call func() error) error {
					time.Sleep(takes)
					return call()
				}
				movers.Go(func() {
					time.Sleep(time.Duration(i) * time.Duration(begins*50+20) * time.Millisecond)
					s := opens(t, d.list(slow, list...))
					if err := s.Rebalance(t.Context(), shards.Rebalancing{Parallel: 1}); err != nil {
						t.Errorf("process %d, the second one begins at %d: %v", i, begins, err)
					}
				})
			}
			movers.Wait()
			d.wantPlaces(t, d.open(t, "a", "c"), threads)
		})
	}
}

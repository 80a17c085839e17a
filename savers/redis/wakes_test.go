package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// wakesOf is a saver with a look into its index of wakes of graph g.
type wakesOf struct {
	*redis.Saver
	t      *testing.T
	client *goredis.Client
	prefix string
}

func openWakes(t *testing.T) *wakesOf {
	t.Helper()
	addr, prefix := testenv.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	s := openOn(t, goredis.NewClient(&goredis.Options{Addr: addr}), redis.Prefix(prefix))
	due(t, s, 0) // the first call repairs the index
	return &wakesOf{Saver: s, t: t, client: client, prefix: prefix}
}

func (w *wakesOf) key() string { return w.prefix + "{index}:wake:3:g" }

// entry returns the wake of a thread in the index, zero for none.
func (w *wakesOf) entry(thread string) time.Time {
	w.t.Helper()
	score, err := w.client.ZScore(w.t.Context(), w.key(), thread).Result()
	if errors.Is(err, goredis.Nil) {
		return time.Time{}
	} else if err != nil {
		w.t.Fatal(err)
	}
	return time.UnixMicro(int64(score))
}

// endReservations makes all entries of the index that are in the next minute those of now.
func (w *wakesOf) endReservations() {
	w.t.Helper()
	for _, z := range w.client.ZRangeByScoreWithScores(w.t.Context(), w.key(), &goredis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(time.Now().Add(time.Minute).UnixMicro(), 10),
	}).Val() {
		w.client.ZAdd(w.t.Context(), w.key(), goredis.Z{Score: float64(time.Now().UnixMicro()), Member: z.Member})
	}
}

// age makes the stamps of all threads two minutes old.
func (w *wakesOf) age() {
	w.t.Helper()
	stamps := w.prefix + "{index}:stamps"
	for id, stamp := range w.client.HGetAll(w.t.Context(), stamps).Val() {
		if id != "" {
			w.client.HSet(w.t.Context(), stamps, id, stamp[:16]+strconv.FormatInt(time.Now().Add(-2*time.Minute).Unix(), 10))
		}
	}
}

// waits makes a thread that waits without a wake, and no entry in the index.
func (w *wakesOf) waits(thread string) checkpoint.ID {
	w.t.Helper()
	a := inGraph(w.t, thread, checkpoint.ID{})
	a.End, a.Status = true, checkpoint.Waiting
	if _, err := w.Append(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
	w.client.ZRem(w.t.Context(), w.key(), thread)
	return a.Records[0].ID
}

func (w *wakesOf) announce(thread, id string) *redis.Announced {
	w.t.Helper()
	a, err := redis.Announce(w.t.Context(), w.Saver, checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{message(checkpoint.SignalMessage, id)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *wakesOf) make(a *redis.Announced, want string) {
	w.t.Helper()
	if outcome, err := a.Make(w.t.Context()); err != nil || outcome != want {
		w.t.Fatalf("the second step of a post: got %q, %v, want %q", outcome, err, want)
	}
}

func TestACrashBetweenIndexAndThreadLeavesAnEarlyEntry(t *testing.T) {
	w := openWakes(t)
	w.waits("a")
	w.announce("a", "lost") // and no more
	if w.entry("a").IsZero() {
		t.Fatal("the first step of a post left no entry")
	}
	if got := due(t, w, 5*time.Second); got != "" {
		t.Errorf("got %q ready, want none: the thread got no message", got)
	}
	if w.entry("a").IsZero() {
		t.Error("the entry was removed although the post may still come")
	}
	w.age()
	w.endReservations()
	if got := due(t, w, 5*time.Second); got != "" || !w.entry("a").IsZero() {
		t.Errorf("after two minutes: got %q ready and the entry %v, want none of both", got, w.entry("a"))
	}
}

func TestAPostIsFoundAlthoughSomebodyLookedBetweenItsSteps(t *testing.T) {
	w := openWakes(t)
	w.waits("a")
	a := w.announce("a", "one")
	if got := due(t, w, 5*time.Second); got != "" {
		t.Fatalf("got %q ready, want none yet", got)
	}
	w.make(a, "ok") // and a crash before the index is notified again
	w.endReservations()
	if got := due(t, w, 5*time.Second); got != "a" {
		t.Errorf("after the reservation: got %q ready, want a", got)
	}

	// A second post and an end come between the steps, so the index knows only the last of them.
	w.waits("b")
	first, second := w.announce("b", "one"), w.announce("b", "two")
	w.make(second, "ok")
	if err := w.Rewake(t.Context(), checkpoint.Rewake{Thread: "b", Fence: headOf(t, w, "b"), Posted: 1}); err != nil {
		t.Fatal(err)
	}
	w.endReservations()
	due(t, w, 5*time.Second)
	if !w.entry("b").IsZero() {
		t.Fatal("the entry of a thread that is not due was not removed; the test would prove nothing")
	}
	w.make(first, "ok")
	if err := first.Again(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := due(t, w, 0); got != "b" {
		t.Errorf("got %q ready, want b", got)
	}
}

func headOf(t *testing.T, s checkpoint.Saver, thread string) checkpoint.ID {
	t.Helper()
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return chain.Head
}

// TestALateRaiseDoesNotHideAPost posts to a thread that another caller has reserved and found not
// due, before that caller removes its entry.
func TestALateRaiseDoesNotHideAPost(t *testing.T) {
	w := openWakes(t)
	w.waits("a")
	w.client.ZAdd(t.Context(), w.key(), goredis.Z{Score: 1, Member: "a"})
	client, posted := goredis.NewClient(&goredis.Options{Addr: w.client.Options().Addr}), false
	client.AddHook(beforeCall(func(args []any) {
		if len(args) > 13 && args[13] == "a" { // the correction of the entry
			post(t, w, "a", "g", message(checkpoint.SignalMessage, "s"))
			posted = true
		}
	}))
	other := openOn(t, client, redis.Prefix(w.prefix))
	if got := due(t, other, time.Hour); got != "" || !posted {
		t.Fatalf("got %q ready, and the post came in between: %t; want none, and true", got, posted)
	}
	if got := due(t, w, 0); got != "a" {
		t.Errorf("got %q ready, want a; its entry is %v", got, w.entry("a"))
	}
}

// beforeCall is a hook that sees the arguments of single commands before they are sent.
type beforeCall func(args []any)

func (f beforeCall) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (f beforeCall) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		f(cmd.Args())
		return next(ctx, cmd)
	}
}

func (f beforeCall) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func TestTheIndexIsNotifiedBeforeAThreadBecomesDue(t *testing.T) {
	w := openWakes(t)
	ctx := t.Context()
	a := inGraph(t, "run", checkpoint.ID{})
	if _, err := w.Append(ctx, a); err != nil {
		t.Fatal(err)
	}
	put := checkpoint.PutWrites{Thread: "run", Fence: a.Records[0].ID, Status: checkpoint.Waiting, Wake: time.Now().Add(time.Minute)}
	unannounced := func(what, want string) {
		t.Helper()
		if outcome, err := redis.RunUnannounced(ctx, w.Saver, put); err != nil || outcome != want {
			t.Errorf("%s: got %q, %v, want %q", what, outcome, err, want)
		}
	}
	unannounced("an end with a wake that the index does not have", "announce")
	post(t, w, "run", "g", message(checkpoint.SignalMessage, "s"))
	put.Wake = time.Time{}
	unannounced("an end with a message that the run has not seen", "announce")
	put.Messages.Seen = 1
	unannounced("an end without a wake", "ok")

	// An end by a saver that has not opened the run, and does not know its graph.
	other := openOn(t, goredis.NewClient(&goredis.Options{Addr: w.client.Options().Addr}), redis.Prefix(w.prefix))
	b := inGraph(t, "b", checkpoint.ID{})
	if _, err := w.Append(ctx, b); err != nil {
		t.Fatal(err)
	}
	if _, err := other.PutWrites(ctx, checkpoint.PutWrites{Thread: "b", Fence: b.Records[0].ID, End: true, Wake: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if got := due(t, w, 0); got != "b" {
		t.Errorf("got %q ready, want b immediately", got)
	}
	// A post by somebody who does not know the graph, and a release with an input.
	w.waits("c")
	post(t, other, "c", "", message(checkpoint.SignalMessage, "s"))
	d := w.waits("d")
	post(t, other, "d", "another", message(checkpoint.InputMessage, "i"))
	if err := w.Rewake(ctx, checkpoint.Rewake{Thread: "d", Fence: d, Posted: 1}); err != nil {
		t.Fatal(err)
	}
	w.client.ZRem(ctx, w.key(), "d")
	if _, err := other.Release(ctx, "d", checkpoint.ID{}); err != nil {
		t.Fatal(err)
	}
	if got := due(t, w, 0); got != "b c d" {
		t.Errorf("got %q ready, want b, c and d", got)
	}
}

// TestALostIndexIsRepaired deletes keys of the index, and forgets what the threads have there.
func TestALostIndexIsRepaired(t *testing.T) {
	for name, lost := range map[string][]string{
		"the wakes":              {"wake:3:g"},
		"the unfinished ones":    {"wake:3:g", "live"},
		"all sets but the stamp": {"wake:3:g", "live", "graph:g", "label:1:lv"},
		"everything":             {"wake:3:g", "live", "all", "stamps", "graph:g", "label:1:lv"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWakes(t)
			ctx := t.Context()
			for i := range 300 {
				w.waits(fmt.Sprintf("waits %d", i))
			}
			post(t, w, "waits 7", "g", message(checkpoint.SignalMessage, "s"))
			w.waits("done")
			a := inGraph(t, "done", headOf(t, w, "done"))
			a.End, a.Status = true, checkpoint.Done
			if _, err := w.Append(ctx, a); err != nil {
				t.Fatal(err)
			}
			post(t, w, "done", "g", message(checkpoint.InputMessage, "i"))
			if _, err := w.Post(ctx, checkpoint.Post{
				Thread: "new", Graph: "g", Labels: map[string]string{"l": "v"}, Messages: []checkpoint.Message{message(checkpoint.InputMessage, "i")},
			}); err != nil {
				t.Fatal(err)
			}
			all := listThreads(t, w, checkpoint.ThreadQuery{})
			for _, key := range lost {
				w.client.Del(ctx, w.prefix+"{index}:"+key)
			}
			got := strings.Fields(due(t, w, 0))
			slices.Sort(got)
			if want := []string{"7", "done", "new", "waits"}; !slices.Equal(got, want) {
				t.Errorf("got %q ready, want %q", got, want)
			}
			if got := listThreads(t, w, checkpoint.ThreadQuery{}); !slices.Equal(got, all) {
				t.Errorf("got %d threads, want %d as before", len(got), len(all))
			}
			if slices.Contains(lost, "stamps") {
				if got := listThreads(t, w, checkpoint.ThreadQuery{Labels: map[string]string{"l": "v"}}); !slices.Equal(got, []string{"new"}) {
					t.Errorf("by label: got %q, want new", got)
				}
			}
		})
	}
}

func TestTheIndexIsRepairedOnceAnHour(t *testing.T) {
	w := openWakes(t)
	w.waits("a")
	post(t, w, "a", "g", message(checkpoint.SignalMessage, "s"))
	w.client.ZRem(t.Context(), w.key(), "a") // the entry alone
	if got := due(t, w, 0); got != "" {
		t.Fatalf("got %q ready within the hour, want none; the test would prove nothing", got)
	}
	w.client.ZIncrBy(t.Context(), w.key(), -float64(61*time.Minute.Microseconds()), "") // the time of the last repair
	if got := due(t, w, 0); got != "a" {
		t.Errorf("after an hour: got %q ready, want a", got)
	}
}

// TestAReservationOutlastsARepair reserves a thread, and a repair follows.
func TestAReservationOutlastsARepair(t *testing.T) {
	w := openWakes(t)
	w.waits("a")
	post(t, w, "a", "g", message(checkpoint.SignalMessage, "s"))
	if got := due(t, w, 5*time.Second); got != "a" {
		t.Fatalf("got %q ready, want a", got)
	}
	reserved := w.entry("a")
	w.client.ZRem(t.Context(), w.key(), "")
	if got := due(t, w, 0); got != "" || !w.entry("a").Equal(reserved) {
		t.Errorf("after a repair: got %q ready and the entry %v, want none and %v", got, w.entry("a"), reserved)
	}
}

func TestALostIndexOfAClusterIsRepaired(t *testing.T) {
	addrs, prefix := testenv.RedisCluster(t)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	s := openOn(t, client, redis.Prefix(prefix))
	for i := range 100 {
		post(t, s, fmt.Sprint("t", i), "g", message(checkpoint.InputMessage, "i"))
	}
	for _, key := range []string{"wake:3:g", "live", "all", "stamps", "graph:g"} {
		if err := client.Del(t.Context(), prefix+"{index}:"+key).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Fields(due(t, s, 0)); len(got) != 100 {
		t.Errorf("got %d threads ready, want all 100", len(got))
	}
}

package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/rows"
	"github.com/graphgen-go/graphgen/savers/internal/rows/memrows"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type side struct {
	name string
	s    checkpoint.Saver
	path string
	head checkpoint.ID
	step int
	best map[string]time.Duration
}

func id() checkpoint.ID { return must(checkpoint.NewID()) }

func openAppend(thread string, labels map[string]string) checkpoint.Append {
	a, b := id(), id()
	now := time.Now()
	return checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{Holder: "host 1234", Labels: labels}, Status: checkpoint.Running,
		Records: []checkpoint.Record{
			{ID: a, Base: a, Line: a, Source: checkpoint.Input, Created: now, Due: []checkpoint.Task{{Node: "__start__"}}, Snapshot: true, Payload: make([]byte, 20), Graph: "orders", Fingerprint: 7777777777},
			{ID: b, Parent: a, Base: b, Line: a, Commits: a, Source: checkpoint.Input, Created: now, Due: []checkpoint.Task{{Node: "first"}}, Payload: make([]byte, 200), Graph: "orders", Fingerprint: 7777777777},
		},
	}
}

func commitAppend(thread string, fence, head checkpoint.ID, step, size int) checkpoint.Append {
	n := id()
	return checkpoint.Append{Thread: thread, After: head, Fence: fence, Records: []checkpoint.Record{{
		ID: n, Parent: head, Base: n, Line: fence, Commits: head, Step: step, Source: checkpoint.Loop, Ran: []string{"first"},
		Due: []checkpoint.Task{{Node: "first"}}, Created: time.Now(), Graph: "orders", Fingerprint: 7777777777, Payload: make([]byte, size),
	}}}
}

func (d *side) note(what string, each time.Duration) {
	if old, ok := d.best[what]; !ok || each < old {
		d.best[what] = each
	}
}

func (d *side) measure(what string, n int, f func(i int)) {
	c := cpu()
	for i := range n {
		f(i)
	}
	d.note(what, (cpu()-c)/time.Duration(n))
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestFigures compares savers: the least processor time of several rounds, in turn.
func TestFigures(t *testing.T) {
	if os.Getenv("FIGURES") == "" {
		t.Skip()
	}
	ctx := context.Background()
	dir := "/dev/shm/kvfig"
	os.RemoveAll(dir)
	os.MkdirAll(dir, 0o700)
	defer os.RemoveAll(dir)
	sides := []*side{}
	add := func(name, path string, s checkpoint.Saver) { sides = append(sides, &side{name: name, s: s, path: path, best: map[string]time.Duration{}}) }
	add("memory", "", memory.New())
	add("memory kv", "", rows.New("m", memrows.New(), rows.Options{}))
	p := filepath.Join(dir, "today.db")
	add("sqlite", p, must(Open(p, Synchronous(Normal))))
	p = filepath.Join(dir, "kv.db")
	add("sqlite kv", p, must(openRows(p, Synchronous(Normal))))
	const rounds = 8
	for round := range rounds {
		for _, d := range sides {
			thread := fmt.Sprintf("turns%d", round)
			open := openAppend(thread, nil)
			must(d.s.Append(ctx, open))
			fence, head := open.Records[0].ID, open.Records[1].ID
			d.measure("1 commit of 200 B", 1500, func(i int) {
				a := commitAppend(thread, fence, head, i+1, 200)
				must(d.s.Append(ctx, a))
				head = a.Records[0].ID
			})
			must(d.s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: fence, End: true, Status: checkpoint.Done}))
			d.measure("2 new thread: opening, end", 300, func(i int) {
				thread := fmt.Sprintf("new%d-%d", round, i)
				open := openAppend(thread, map[string]string{"customer": fmt.Sprint(i % 20)})
				must(d.s.Append(ctx, open))
				a := commitAppend(thread, open.Records[0].ID, open.Records[1].ID, 1, 200)
				a.End, a.Status, a.Records[0].Due = true, checkpoint.Done, nil
				must(d.s.Append(ctx, a))
			})
			d.measure("3 put of a result of 200 B", 300, func(i int) {
				if i == 0 {
					open = openAppend(fmt.Sprintf("puts%d", round), nil)
					must(d.s.Append(ctx, open))
				}
				must(d.s.PutWrites(ctx, checkpoint.PutWrites{Thread: open.Thread, Fence: open.Records[0].ID, Writes: []checkpoint.Write{
					{Base: open.Records[1].ID, Task: fmt.Sprintf("task %d", i), Kind: checkpoint.Result, Payload: make([]byte, 200)}}}))
			})
		}
	}
	// 20,000 threads, of which some wait
	for _, d := range sides {
		for i := range 20_000 {
			thread := fmt.Sprintf("many%d", i)
			open := openAppend(thread, map[string]string{"customer": fmt.Sprint(i % 200), "region": fmt.Sprint(i % 3)})
			for j := range open.Records {
				open.Records[j].Graph = "many"
			}
			must(d.s.Append(ctx, open))
			must(d.s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: open.Records[0].ID, End: true, Status: checkpoint.Ready, Wake: time.Now().Add(-time.Hour)}))
		}
		// a thread of 1,000 turns
		open := openAppend("long", nil)
		open.Records[0].Payload = must(checkpoint.Fold([]byte{0x80}))
		must(d.s.Append(ctx, open))
		head := open.Records[1].ID
		for i := range 1000 {
			a := commitAppend("long", open.Records[0].ID, head, i+1, 200)
			must(d.s.Append(ctx, a))
			head = a.Records[0].ID
		}
		must(d.s.PutWrites(ctx, checkpoint.PutWrites{Thread: "long", Fence: open.Records[0].ID, End: true, Status: checkpoint.Done}))
	}
	for range rounds {
		for _, d := range sides {
			d.measure("4 Ready of 6 of 20,000, reserved", 20, func(i int) {
				got := must(d.s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"many"}, Limit: 6, Reserve: time.Hour}))
				if len(got.Threads) != 6 {
					t.Fatalf("%s: %d ready", d.name, len(got.Threads))
				}
			})
			list := func(what string, q checkpoint.ThreadQuery, want int) {
				d.measure(what, 5, func(i int) {
					n := 0
					for _, err := range d.s.Threads(ctx, q) {
						if err != nil {
							t.Fatal(err)
						}
						n++
					}
					if n != want {
						t.Fatalf("%s: %s: %d listed", d.name, what, n)
					}
				})
			}
			list("5 list 100 by label, newest", checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, Labels: map[string]string{"customer": "7"}, Graph: "many", Limit: 100}, 100)
			list("6 list 100 by graph, newest", checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, Graph: "many", Limit: 100}, 100)
			list("7 list 100 by label, by id", checkpoint.ThreadQuery{Labels: map[string]string{"customer": "7"}, Graph: "many", Limit: 100}, 100)
			list("8 list 100 by id", checkpoint.ThreadQuery{Limit: 100}, 100)
			d.measure("9 load of 1,000 turns", 5, func(i int) {
				if c := must(d.s.Load(ctx, checkpoint.Ref{Thread: "long"})); len(c.Deltas) < 1 {
					t.Fatal("no deltas")
				}
			})
			d.measure("a load of a short thread", 50, func(i int) { must(d.s.Load(ctx, checkpoint.Ref{Thread: fmt.Sprintf("many%d", i)})) })
			d.measure("b post of a message", 50, func(i int) {
				must(d.s.Post(ctx, checkpoint.Post{Thread: fmt.Sprintf("many%d", 5000+i), Messages: []checkpoint.Message{{ID: string(id().String()), Kind: checkpoint.SignalMessage, Name: "go", Payload: make([]byte, 50)}}}))
			})
			d.measure("c history of 20", 50, func(i int) {
				for _, err := range d.s.History(ctx, checkpoint.Ref{Thread: "long"}, checkpoint.Query{Limit: 20, Headers: true}) {
					if err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
	var names []string
	for n := range sides[0].best {
		names = append(names, n)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, n := range names {
		fmt.Fprintf(&b, "%-36s", n)
		for _, d := range sides {
			fmt.Fprintf(&b, " %s %v", d.name, d.best[n].Round(100*time.Nanosecond))
		}
		fmt.Fprintln(&b)
	}
	fmt.Print(b.String())
}

// TestBytes measures the bytes of files after a checkpoint.
func TestBytes(t *testing.T) {
	if os.Getenv("FIGURES") == "" {
		t.Skip()
	}
	ctx := context.Background()
	for _, kind := range []string{"1000 commits", "5000 threads"} {
		for _, name := range []string{"sqlite", "sqlite kv"} {
			path := filepath.Join(t.TempDir(), "f.db")
			var s checkpoint.Saver
			if name == "sqlite" {
				s = must(Open(path, Synchronous(Normal)))
			} else {
				s = must(openRows(path, Synchronous(Normal)))
			}
			checkpointed := func() int64 {
				db := must(sql.Open("sqlite", "file:"+path))
				defer db.Close()
				must(db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"))
				return size(path)
			}
			before := checkpointed()
			n := int64(1000)
			if kind == "1000 commits" {
				open := openAppend("t", nil)
				must(s.Append(ctx, open))
				head := open.Records[1].ID
				for i := range 1000 {
					a := commitAppend("t", open.Records[0].ID, head, i+1, 200)
					must(s.Append(ctx, a))
					head = a.Records[0].ID
				}
			} else {
				n = 5000
				for i := range 5000 {
					thread := fmt.Sprintf("many%d", i)
					open := openAppend(thread, map[string]string{"customer": fmt.Sprint(i % 200)})
					must(s.Append(ctx, open))
					a := commitAppend(thread, open.Records[0].ID, open.Records[1].ID, 1, 200)
					a.End, a.Status = true, checkpoint.Done
					must(s.Append(ctx, a))
				}
			}
			after := checkpointed()
			fmt.Printf("%s: %s: %d B, %d each\n", kind, name, after-before, (after-before)/n)
			s.Close()
		}
	}
}

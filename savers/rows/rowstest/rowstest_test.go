package rowstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// recorder is a testing.TB that notes failures.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Error(args ...any)                 { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) Helper()                           {}
func (r *recorder) Logf(string, ...any)               {}

// broken is a Store that breaks one rule: a function that is not nil replaces a method.
type broken struct {
	*memrows.Store
	read  func(s *memrows.Store, ctx context.Context, ranges []rows.Range) ([][]rows.Row, time.Time, error)
	apply func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error)
}

func (b broken) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	if b.read == nil {
		return b.Store.Read(ctx, ranges...)
	}
	return b.read(b.Store, ctx, slices.Clone(ranges))
}

func (b broken) Apply(ctx context.Context, c *rows.Change) (uint64, [][]rows.Row, error) {
	if b.apply == nil {
		return b.Store.Apply(ctx, c)
	}
	return b.apply(b.Store, ctx, rows.Change{
		Checks: slices.Clone(c.Checks), Deletes: slices.Clone(c.Deletes), Puts: slices.Clone(c.Puts), Reads: c.Reads, Joint: c.Joint,
	})
}

// changed returns a read of ranges that f changes.
func changed(f func(r *rows.Range)) broken {
	return broken{read: func(s *memrows.Store, ctx context.Context, ranges []rows.Range) ([][]rows.Row, time.Time, error) {
		for i := range ranges {
			f(&ranges[i])
		}
		return s.Read(ctx, ranges...)
	}}
}

// clock returns reads at another time than that of the storage.
func clock(f func(time.Time) time.Time) broken {
	return broken{read: func(s *memrows.Store, ctx context.Context, ranges []rows.Range) ([][]rows.Row, time.Time, error) {
		found, now, err := s.Read(ctx, ranges...)
		return found, f(now), err
	}}
}

// applying returns changes that f changes.
func applying(f func(s *memrows.Store, c *rows.Change)) broken {
	return broken{apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
		f(s, &c)
		return s.Apply(ctx, &c)
	}}
}

// current makes the checks of c hold.
func current(s *memrows.Store, c *rows.Change) {
	for i := range c.Checks {
		k := &c.Checks[i]
		if found, _, _ := s.Read(context.Background(), point(key(rows.Threads, k.Thread, ""))); len(found[0]) > 0 {
			k.Rev = found[0][0].Rev
		}
	}
}

var faults = []struct {
	what, refusedBy string
	store           broken
}{
	{"ignores checks", "checks", applying(current)},
	{"ignores checks, and a change is not stored whole", "a change is stored whole or not at all", applying(current)},
	{"replaces rows by new ones", "new rows", applying(func(_ *memrows.Store, c *rows.Change) {
		for i := range c.Puts {
			c.Puts[i].New = false
		}
	})},
	{"deletes, although a check does not hold", "a change is stored whole or not at all", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			rev, read, err := s.Apply(ctx, &c)
			if errors.Is(err, rows.ErrChanged) {
				only := rows.Change{Checks: c.Checks[:1], Deletes: c.Deletes}
				current(s, &only)
				_, _, _ = s.Apply(ctx, &only) // the fault
			}
			return rev, read, err
		},
	}},
	{"deletes after puts", "deletes precede puts", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			last := rows.Change{Checks: c.Checks, Deletes: c.Deletes, Reads: c.Reads}
			c.Deletes, c.Reads = nil, nil
			rev, _, err := s.Apply(ctx, &c)
			if err != nil {
				return 0, nil, err
			}
			current(s, &last)
			_, read, err := s.Apply(ctx, &last)
			return rev, read, err
		},
	}},
	{"reads before the change", "a change answers its reads", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			read, _, err := s.Read(ctx, c.Reads...)
			if err != nil {
				return 0, nil, err
			}
			rev, _, err := s.Apply(ctx, &c)
			return rev, read, err
		},
	}},
	{"returns another revision", "revisions increase", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			_, read, err := s.Apply(ctx, &c)
			return 7, read, err
		},
	}},
	{"stores 100 rows of a change", "many rows in one change", applying(func(_ *memrows.Store, c *rows.Change) { c.Puts = c.Puts[:min(len(c.Puts), 100)] })},
	{"cuts values", "large values", applying(func(_ *memrows.Store, c *rows.Change) {
		for i := range c.Puts {
			c.Puts[i].Value = c.Puts[i].Value[:min(len(c.Puts[i].Value), 65535)]
		}
	})},
	{"stores values in lower case", "all bytes of values", applying(func(_ *memrows.Store, c *rows.Change) {
		for i := range c.Puts {
			c.Puts[i].Value = bytes.ToLower(c.Puts[i].Value)
		}
	})},
	{"stores keys in lower case", "keys are in the order of their bytes", applying(func(_ *memrows.Store, c *rows.Change) {
		for i := range c.Puts {
			if c.Puts[i].Table != rows.Threads && !slices.ContainsFunc(c.Puts[:i], func(p rows.Put) bool { return bytes.EqualFold(p.Bytes, c.Puts[i].Bytes) }) {
				c.Puts[i].Bytes = bytes.ToLower(c.Puts[i].Bytes)
			}
		}
	})},
	{"includes the end of a range", "ranges and limits", changed(func(r *rows.Range) {
		if r.To != nil {
			r.To = append(bytes.Clone(r.To), 0)
		}
	})},
	{"ignores limits", "ranges and limits", changed(func(r *rows.Range) { r.Limit = 0 })},
	{"ignores the direction", "random changes", changed(func(r *rows.Range) { r.Reverse = false })},
	{"keeps two tables as one", "tables are apart", changed(func(r *rows.Range) {
		if r.Table == rows.Versions {
			r.Table = rows.Writes
		}
	})},
	{"has no clock", "an empty store", clock(func(time.Time) time.Time { return time.Time{} })},
	{"has a clock that goes back", "the clock does not go back, and has microseconds", clock(func(now time.Time) time.Time { return time.Unix(0, -now.UnixNano()) })},
	{"has a clock of milliseconds", "the clock does not go back, and has microseconds", clock(func(now time.Time) time.Time { return now.Truncate(time.Millisecond) })},
	{"stores what it can of a joint change", "a joint change is whole, and waits for no lock of a thread", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			rev, read, err := s.Apply(ctx, &c)
			if c.Joint && err != nil {
				_, _, _ = s.Apply(ctx, &rows.Change{Checks: c.Checks[:1], Puts: c.Puts[:2]}) // the fault
			}
			return rev, read, err
		},
	}},
	{"ignores its context", "an ended context", broken{
		apply: func(s *memrows.Store, ctx context.Context, c rows.Change) (uint64, [][]rows.Row, error) {
			return s.Apply(context.WithoutCancel(ctx), &c)
		},
	}},
}

// failuresOf returns the failures of one case.
func failuresOf(t *testing.T, name string, store rows.Store, largest int) []string {
	t.Helper()
	r := &recorder{TB: t}
	var group sync.WaitGroup
	for _, c := range cases {
		if c.name == name {
			group.Go(func() { c.test(place{r, store, largest}) })
			group.Wait()
			return r.failures
		}
	}
	t.Fatalf("the suite has no case %q", name)
	return nil
}

func TestTheSuiteRefusesBrokenStores(t *testing.T) {
	for _, f := range faults {
		f.store.Store = memrows.New()
		if got := failuresOf(t, f.refusedBy, f.store, 0); len(got) == 0 {
			t.Errorf("a store that %s passes the case %q", f.what, f.refusedBy)
		}
	}
	if got := failuresOf(t, "large values", memrows.New(), 1000); len(got) == 0 {
		t.Error("a store that keeps values beyond the declared length passes")
	}
	for _, c := range cases {
		if got := failuresOf(t, c.name, memrows.New(), 0); len(got) > 0 {
			t.Errorf("%s: a store without faults fails: %q", c.name, got)
		}
	}
}

package rowstest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// testLarge stores values of up to the greatest length.
func testLarge(s place) {
	largest := cmp.Or(s.largest, 1<<20)
	text := strings.Repeat("0123456789abcde\xff", largest/16+1)
	check := s.check("t")
	for _, n := range []int{255, 256, 65535, 65536, largest} {
		if n > largest {
			continue
		}
		k := key(rows.Writes, "t", strconv.Itoa(n))
		_, got := s.apply(rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{row(k, text[:n])}, Reads: []rows.Range{point(k)}})
		for _, got := range [][]rows.Row{got[0], s.read(point(k))[0]} {
			if len(got) != 1 || string(got[0].Value) != text[:n] {
				s.Errorf("a value of %d bytes does not come back", n)
			}
		}
	}
	if s.largest == 0 {
		return
	}
	before := s.snapshot("t")
	c := rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{
		row(key(rows.Threads, "t", ""), "lost"), row(key(rows.Writes, "t", "small"), "lost"), row(key(rows.Writes, "t", "large"), text+text),
	}}
	if _, _, err := s.store.Apply(s.Context(), &c); !errors.Is(err, checkpoint.ErrTooLarge) {
		s.Errorf("a value of %d bytes: got error %v, want checkpoint.ErrTooLarge", 2*len(text), err)
	}
	if s.snapshot("t") != before {
		s.Error("a change with a value that is too large changed the store")
	}
}

// testRandom compares random changes and reads with those of a sorted map.
func testRandom(s place) {
	s.Helper()
	seed := rand.Uint64()
	defer func() {
		if s.Failed() {
			s.Logf("the seed is %d", seed)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0))
	const letters = "ab\x00\xff"
	some := func() string {
		b := make([]byte, 1+r.IntN(3))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	model := [2]map[string]string{{}, {}} // by table: Records and Messages
	both := [2]rows.Table{rows.Records, rows.Messages}
	random := func() (int, rows.Range) {
		i := r.IntN(2)
		q := point(key(both[i], "t", some()))
		if r.IntN(3) > 0 {
			q.To = key(both[i], "t", some()).Bytes
		}
		return i, q
	}
	// among returns the keys of the model that a range selects.
	among := func(of map[string]string, q *rows.Range) (keys []string) {
		for _, k := range slices.Sorted(maps.Keys(of)) {
			if selects(q, k) {
				keys = append(keys, k)
			}
		}
		if q.Reverse {
			slices.Reverse(keys)
		}
		if q.Limit > 0 && len(keys) > q.Limit {
			keys = keys[:q.Limit]
		}
		return keys
	}
	rev := s.create("t")
	for range 150 {
		next := [2]map[string]string{maps.Clone(model[0]), maps.Clone(model[1])}
		c := rows.Change{Checks: []rows.Check{{Thread: "t", Rev: rev}}}
		holds := true
		if r.IntN(8) == 0 {
			c.Checks[0].Rev--
			holds = false
		}
		for range r.IntN(3) {
			i, q := random()
			c.Deletes = append(c.Deletes, q)
			for _, k := range among(model[i], &q) {
				delete(next[i], k)
			}
		}
		put := map[string]bool{}
		for range r.IntN(5) {
			i := r.IntN(2)
			p := row(key(both[i], "t", some()), some())
			k := string(p.Bytes)
			if put[strconv.Itoa(i)+k] {
				continue
			}
			put[strconv.Itoa(i)+k] = true
			_, found := model[i][k]
			deleted := slices.ContainsFunc(c.Deletes, func(d rows.Range) bool { return d.Table == p.Table && selects(&d, k) })
			if p.New = r.IntN(2) == 0 && !deleted; p.New && found {
				holds = false
			}
			c.Puts = append(c.Puts, p)
			next[i][k] = string(p.Value)
		}
		changes := r.IntN(2) == 0
		if changes {
			c.Puts = append(c.Puts, row(key(rows.Threads, "t", ""), some()))
		}
		var asked []int
		for range 1 + r.IntN(4) {
			i, q := random()
			if q.To != nil {
				q.Limit, q.Reverse = r.IntN(4), r.IntN(2) == 0
			}
			asked, c.Reads = append(asked, i), append(c.Reads, q)
		}
		got, read, err := s.store.Apply(s.Context(), &c)
		switch {
		case holds && err != nil || !holds && !errors.Is(err, rows.ErrChanged):
			s.Fatalf("Apply: got error %v; the checks hold: %t", err, holds)
		case !holds:
			read = s.read(c.Reads...)
		default:
			model = next
			if changes {
				rev = got
			}
			if again := s.read(c.Reads...); len(read) != len(again) || fmt.Sprint(texts(read)) != fmt.Sprint(texts(again)) {
				s.Fatalf("the reads of a change got %q, and the same after it %q", texts(read), texts(again))
			}
		}
		for j, i := range asked {
			want := among(model[i], &c.Reads[j])
			s.want(rangeText(&c.Reads[j]), read[j], want...)
			for n := range read[j] {
				if k := string(read[j][n].Key); string(read[j][n].Value) != model[i][k] {
					s.Fatalf("the row %q is %q, want %q", k, read[j][n].Value, model[i][k])
				}
			}
		}
		if s.Failed() {
			return
		}
	}
}

// selects reports whether a range has a key, apart from its limit.
func selects(q *rows.Range, key string) bool {
	if q.To == nil {
		return key == string(q.Bytes)
	}
	return key >= string(q.Bytes) && key < string(q.To)
}

// texts returns keys and values.
func texts(all [][]rows.Row) (text [][]string) {
	for _, found := range all {
		var some []string
		for i := range found {
			some = append(some, string(found[i].Key), string(found[i].Value))
		}
		text = append(text, some)
	}
	return text
}

// testView reads many ranges while one writer changes all of them together.
func testView(s place) {
	const points = 40
	s.create("t")
	var ranges []rows.Range
	for i := range points {
		ranges = append(ranges, point(key(rows.Writes, "t", strconv.Itoa(i))))
	}
	ranges = append(ranges, all(rows.Messages, "t"), all(rows.Records, "t"), point(key(rows.Threads, "t", "")))
	change := func(rev uint64, n int) (uint64, error) {
		text := strconv.Itoa(n)
		c := rows.Change{
			Checks:  []rows.Check{{Thread: "t", Rev: rev}},
			Deletes: []rows.Range{all(rows.Messages, "t")},
			Puts:    []rows.Put{row(key(rows.Threads, "t", ""), text), row(key(rows.Messages, "t", text), text), row(key(rows.Records, "t", "one"), text)},
		}
		for i := range points {
			c.Puts = append(c.Puts, row(ranges[i].Key, text))
		}
		rev, _, err := s.store.Apply(s.Context(), &c)
		return rev, err
	}
	rev, err := change(s.rev("t"), 0)
	if err != nil {
		s.Fatal(err)
	}
	var done atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		defer done.Store(true)
		for n := 1; n <= 50; n++ {
			if rev, err = change(rev, n); err != nil {
				s.Errorf("Apply: %v", err)
				return
			}
		}
	})
	for over := false; !over && !s.Failed(); {
		over = done.Load()
		got := s.read(ranges...)
		for i, found := range got {
			if len(found) != 1 {
				s.Errorf("range %d has %d rows, want 1 at each moment", i, len(found))
				break
			}
			text := string(got[0][0].Value)
			if !bytes.Equal(found[0].Value, row(ranges[i].Key, text).Value) {
				s.Errorf("one read returned rows of two moments: range %d has the value %q, the first is %q", i, found[0].Value, text)
				break
			}
		}
	}
	writer.Wait()
}

// testIncrements counts in the row of a thread, and each count has a row of its own.
func testIncrements(s place) {
	const callers, each = 8, 10
	s.create("t")
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := 0; i < each && !s.Failed(); {
				got, _, err := s.store.Read(s.Context(), point(key(rows.Threads, "t", "")), all(rows.Records, "t"))
				if err != nil || len(got) != 2 || len(got[0]) != 1 {
					s.Errorf("Read: got %d ranges, error %v", len(got), err)
					return
				}
				next := len(got[1])
				_, _, err = s.store.Apply(s.Context(), &rows.Change{
					Checks: []rows.Check{{Thread: "t", Rev: got[0][0].Rev}},
					Puts: []rows.Put{
						row(key(rows.Threads, "t", ""), strconv.Itoa(next)), row(key(rows.Records, "t", fmt.Sprintf("%04d", next)), strconv.Itoa(caller)),
					},
				})
				switch {
				case err == nil:
					i++
				case !errors.Is(err, rows.ErrChanged):
					s.Errorf("Apply: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	if got := s.read(all(rows.Records, "t"))[0]; len(got) != callers*each {
		s.Errorf("%d changes of a thread were stored, and %d rows are left", callers*each, len(got))
	}
}

// testRace puts the same new row several times together: a record without a change of its thread,
// and the row of a new thread.
func testRace(s place) {
	const callers, rounds = 6, 20
	check := s.check("t")
	for round := range rounds {
		record, thread := key(rows.Records, "t", strconv.Itoa(round)), key(rows.Threads, fmt.Sprint("new ", round), "")
		for _, change := range []func(text string) rows.Change{
			func(text string) rows.Change {
				return rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(record, text)}}
			},
			func(text string) rows.Change {
				return rows.Change{Checks: []rows.Check{{Thread: thread.Thread}}, Puts: []rows.Put{row(thread, text)}}
			},
		} {
			var won [callers]bool
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					c := change(strconv.Itoa(caller))
					_, _, err := s.store.Apply(s.Context(), &c)
					if won[caller] = err == nil; err != nil && !errors.Is(err, rows.ErrChanged) {
						s.Errorf("Apply: %v", err)
					}
				})
			}
			group.Wait()
			k := change("").Puts[0].Key
			found := s.read(point(k))[0]
			var winners []string
			for caller, is := range won {
				if is {
					winners = append(winners, strconv.Itoa(caller))
				}
			}
			if len(winners) != 1 || len(found) != 1 || string(found[0].Value) != winners[0] {
				s.Fatalf("round %d: the callers %q stored a new row of the table %s, and %d rows are there; want one of one caller", round, winners, k.Table, len(found))
			}
		}
	}
}

// testSkew stores a row with a check of the thread, while others change the thread. A store that
// checks without a lock of the row stores it too late.
func testSkew(s place) {
	const callers, rounds = 4, 60
	for round := range rounds {
		check := s.check("t")
		var stored [callers]bool
		var seen []rows.Row
		var group sync.WaitGroup
		begin := make(chan struct{})
		mine := func(caller int) rows.Key { return key(rows.Writes, "t", fmt.Sprint(round, " ", caller)) }
		for caller := range callers {
			group.Go(func() {
				<-begin
				_, _, err := s.store.Apply(s.Context(), &rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(mine(caller), "x")}})
				if stored[caller] = err == nil; err != nil && !errors.Is(err, rows.ErrChanged) {
					s.Errorf("Apply: %v", err)
				}
			})
		}
		group.Go(func() {
			<-begin
			c := rows.Change{
				Checks: []rows.Check{check}, Puts: []rows.Put{row(key(rows.Threads, "t", ""), strconv.Itoa(round))}, Reads: []rows.Range{all(rows.Writes, "t")},
			}
			_, read, err := s.store.Apply(s.Context(), &c)
			for errors.Is(err, rows.ErrChanged) { // a conflict with the others, who do not change the thread
				_, read, err = s.store.Apply(s.Context(), &c)
			}
			if err != nil || len(read) != 1 {
				s.Errorf("Apply: got the rows of %d reads, error %v", len(read), err)
				return
			}
			seen = read[0]
		})
		close(begin)
		group.Wait()
		if s.Failed() {
			return
		}
		for caller, is := range stored {
			sees := slices.ContainsFunc(seen, func(r rows.Row) bool { return bytes.Equal(r.Key, mine(caller).Bytes) })
			if is != sees {
				s.Fatalf("round %d: a row with a check of the thread was stored: %t; the change of the thread, which the check excludes, saw it: %t", round, is, sees)
			}
		}
	}
}

// testJoint stores joint changes of two threads. One of the threads has changed, or is locked.
func testJoint(s place) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute) // of a Store that waits
	defer cancel()
	for _, thread := range [...]string{"a", "b", "locked"} {
		s.create(thread)
	}
	n := 0
	joint := func(threads ...string) *rows.Change {
		n++
		c := &rows.Change{Joint: true}
		for _, thread := range threads {
			c.Checks = append(c.Checks, s.check(thread))
			c.Puts = append(c.Puts, row(key(rows.Threads, thread, ""), strconv.Itoa(n)), row(key(rows.Records, thread, "r"), strconv.Itoa(n)))
			c.Reads = append(c.Reads, all(rows.Records, thread))
		}
		return c
	}
	whole := func(threads ...string) {
		s.Helper()
		_, read, err := s.store.Apply(ctx, joint(threads...))
		if err != nil || len(read) != len(threads) {
			s.Fatalf("a joint change of %q: got the rows of %d reads, error %v", threads, len(read), err)
		}
		for i, thread := range threads {
			s.want("a read of "+thread, read[i], string(key(rows.Records, thread, "r").Bytes))
		}
	}
	nothing := func(what string, c *rows.Change) {
		s.Helper()
		before := s.snapshot("a", "b", "locked")
		if _, _, err := s.store.Apply(ctx, c); err == nil || ctx.Err() != nil {
			s.Errorf("%s: got error %v, and the context's is %v; want another error", what, err, ctx.Err())
		}
		if after := s.snapshot("a", "b", "locked"); after != before {
			s.Errorf("%s: it was refused, and the rows are %s; want %s as before", what, after, before)
		}
	}
	old := joint("a", "b")
	whole("a", "b")
	old.Checks[0] = s.check("a")
	nothing("a joint change, the second thread of which has changed", old)
	server, can := s.store.(rows.Server)
	if !can {
		return
	}
	err := server.Locked(ctx, []rows.Range{point(key(rows.Threads, "locked", ""))}, func([][]rows.Row, time.Time) (*rows.Change, error) {
		nothing("a joint change, the second thread of which is locked", joint("a", "locked"))
		whole("b", "a")
		return new(rows.Change), nil
	})
	if err != nil {
		s.Errorf("Locked: %v", err)
	}
	whole("a", "locked")
}

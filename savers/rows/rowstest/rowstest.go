// Package rowstest (experimental) tests that a rows.Store keeps its contract. It needs only an
// empty Store:
//
//	func TestStore(t *testing.T) {
//		rowstest.Run(t, func(tb testing.TB) rows.Store { return mystore.New(tb.TempDir()) })
//	}
//
// A Store that passes carries a Saver. Test that Saver by package savertest as well: it calls the
// Store as programs do.
package rowstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Option is an option of [Run].
type Option func(*options)

// options are the settings that an Option changes.
type options struct{ largest int }

// MaxValue declares the greatest length of a value that the Store keeps, in bytes. The default is
// 1 MiB, and tests nothing beyond. With the option, Run also tests that the Store refuses a
// greater value by checkpoint.ErrTooLarge, and stores nothing of its Change.
func MaxValue(n int) Option { return func(o *options) { o.largest = n } }

// Run tests a Store, with one subtest for each promise. Each subtest calls open, which must return
// an empty Store; Run closes it. Use tb.Cleanup to remove its data.
func Run(t *testing.T, open func(tb testing.TB) rows.Store, opts ...Option) {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := place{t, open(t), o.largest}
			c.test(s)
			if err := s.store.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

var cases = []struct {
	name string
	test func(place)
}{
	{"an empty store", testEmpty},
	{"keys are in the order of their bytes", testOrder},
	{"ranges and limits", testRanges},
	{"tables are apart", testTables},
	{"all bytes of values", testBytes},
	{"checks", testChecks},
	{"new rows", testNew},
	{"a change is stored whole or not at all", testWhole},
	{"deletes precede puts", testDeletes},
	{"a change answers its reads", testReads},
	{"revisions increase", testRevisions},
	{"many rows in one change", testMany},
	{"random changes", testRandom},
	{"a read is one view", testView},
	{"concurrent changes of a thread lose nothing", testIncrements},
	{"one of several concurrent new rows is stored", testRace},
	{"a check holds until its change is stored", testSkew},
	{"a joint change is whole, and waits for no lock of a thread", testJoint},
	{"items", testItems},
	{"items that entries name", testNamed},
	{"large values", testLarge},
	{"an ended context", testEnded},
	{"the clock does not go back, and has microseconds", testClock},
}

// tables is the number of tables of threads that a Saver reads: all but the last, States.
const tables = int(rows.States)

// place is a Store in a test.
type place struct {
	testing.TB
	store   rows.Store
	largest int // of MaxValue, or 0
}

// key returns the key of a row of a thread. In the table Threads, the bytes are the thread's id.
func key(t rows.Table, thread, end string) rows.Key {
	switch k := (rows.Key{Table: t, Thread: thread, Bytes: []byte(thread + "/" + end)}); t {
	case rows.Threads:
		k.Bytes = []byte(thread)
		return k
	case rows.Index:
		k.Thread = ""
		return k
	default:
		return k
	}
}

// row returns a put of a text at a key. Rows of the table Index have no value.
func row(k rows.Key, text string) rows.Put {
	p := rows.Put{Key: k, Value: []byte(text)}
	switch k.Table {
	case rows.Index:
		p.Value = nil
	case rows.Threads:
		p.Columns = &rows.Columns{Graph: "graph", Title: "title", Status: checkpoint.Running}
	}
	return p
}

// newRow returns a row that must not exist yet.
func newRow(k rows.Key, text string) rows.Put {
	p := row(k, text)
	p.New = true
	return p
}

// point returns the range of one key.
func point(k rows.Key) rows.Range { return rows.Range{Key: k} }

// between selects the rows of a table between two keys.
func between(t rows.Table, thread, from, to string) rows.Range {
	return rows.Range{Key: rows.Key{Table: t, Thread: thread, Bytes: []byte(from)}, To: []byte(to)}
}

// all selects all rows of a table, or those of a thread. The table Threads has no rows of a
// thread, but one.
func all(t rows.Table, thread string) rows.Range {
	switch {
	case t == rows.Threads || t == rows.Index || thread == "":
		return between(t, "", thread, string(bytes.Repeat([]byte{0xff}, rows.MaxKey+1)))
	}
	return between(t, thread, thread+"/", thread+"0")
}

// read returns the rows of ranges.
func (s place) read(ranges ...rows.Range) [][]rows.Row {
	s.Helper()
	got, _, err := s.store.Read(s.Context(), ranges...)
	if err != nil {
		s.Fatalf("Read: %v", err)
	}
	if len(got) != len(ranges) {
		s.Fatalf("Read of %d ranges: got rows of %d", len(ranges), len(got))
	}
	return got
}

// apply stores a change.
func (s place) apply(c rows.Change) (rev uint64, read [][]rows.Row) {
	s.Helper()
	rev, read, err := s.store.Apply(s.Context(), &c)
	if err != nil {
		s.Fatalf("Apply: %v", err)
	}
	if len(read) != len(c.Reads) {
		s.Fatalf("Apply with %d reads: got rows of %d", len(c.Reads), len(read))
	}
	return rev, read
}

// refused checks that a change returns ErrChanged.
func (s place) refused(what string, c rows.Change) {
	s.Helper()
	if _, _, err := s.store.Apply(s.Context(), &c); !errors.Is(err, rows.ErrChanged) {
		s.Errorf("%s: got error %v, want ErrChanged", what, err)
	}
}

// create stores the row of a new thread.
func (s place) create(thread string, puts ...rows.Put) (rev uint64) {
	s.Helper()
	rev, _ = s.apply(rows.Change{
		Checks: []rows.Check{{Thread: thread}},
		Puts:   append([]rows.Put{row(key(rows.Threads, thread, ""), "created")}, puts...),
	})
	return rev
}

// rev returns the revision of a thread, or 0.
func (s place) rev(thread string) uint64 {
	s.Helper()
	found := s.read(point(key(rows.Threads, thread, "")))[0]
	if len(found) == 0 {
		return 0
	}
	return found[0].Rev
}

// want checks the keys of rows.
func (s place) want(what string, got []rows.Row, keys ...string) {
	s.Helper()
	found := make([]string, len(got))
	for i := range got {
		found[i] = string(got[i].Key)
	}
	if !slices.Equal(found, keys) {
		s.Errorf("%s: got the keys %s, want %s", what, quoted(found), quoted(keys))
	}
}

// rangeText describes a range.
func rangeText(r *rows.Range) string {
	return fmt.Sprintf("%s from %q to %q, limit %d, reverse %t", r.Table, r.Bytes, r.To, r.Limit, r.Reverse)
}

// quoted returns keys as text, without most of those that are many or long.
func quoted(keys []string) string {
	var b bytes.Buffer
	for i, k := range keys {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(keys)-i)
			break
		}
		if len(k) > 40 {
			k = k[:40] + "..."
		}
		fmt.Fprintf(&b, " %q", k)
	}
	return "[" + b.String() + " ]"
}

// testEmpty reads an empty store.
func testEmpty(s place) {
	for t := range tables {
		got := s.read(all(rows.Table(t), ""), point(key(rows.Table(t), "a", "b")))
		s.want("a range of "+rows.Table(t).String(), got[0])
		s.want("a point of "+rows.Table(t).String(), got[1])
	}
	for _, ranges := range [][]rows.Range{{all(rows.Index, "")}, nil} {
		got, now, err := s.store.Read(s.Context(), ranges...)
		if err != nil || now.IsZero() || len(got) != len(ranges) {
			s.Errorf("a read of %d ranges: got rows of %d, the time %v and error %v, want that of the clock", len(ranges), len(got), now, err)
		}
	}
}

// ends are the ends of keys, in order. A storage that compares text takes some for equal, or has
// them in another order.
var ends = []string{
	"\x00", "\x00\x00", "\x00\x00\xff", "\x00\xff", "\x01", " ", "%", "*", "A", "A ", "B", "[", "\\", "_", "a", "a\x00", "a ", "aa",
	"a\xff", "b", "e\u0301", "z", "{", "\x7f", "\x80", "\xc3\x28", "\u00df", "\u00e9", "\ufffd", "\xf4\x8f\xbf\xbf", "\xfe", "\xff", "\xff\x00", "\xff\xff",
}

// testOrder reads rows in both orders, in all tables.
func testOrder(s place) {
	for t := range tables {
		t := rows.Table(t)
		var checks []rows.Check
		var puts []rows.Put
		var keys []string
		for _, end := range slices.Backward(ends) {
			k := rows.Key{Table: t, Bytes: []byte("t/" + end)}
			switch t {
			case rows.Threads:
				k.Thread = string(k.Bytes)
				checks = append(checks, rows.Check{Thread: k.Thread})
			case rows.Index:
			default:
				k.Thread = "t"
			}
			keys, puts = append(keys, string(k.Bytes)), append(puts, row(k, "value of "+end))
		}
		slices.Reverse(keys)
		s.apply(rows.Change{Checks: append(checks, s.check("t")), Puts: puts})
		r := between(t, "t", "t/", "t0")
		if t == rows.Threads || t == rows.Index {
			r.Thread = ""
		}
		back := r
		back.Reverse = true
		points := []rows.Range{r, back}
		for i := range puts {
			points = append(points, point(puts[i].Key))
		}
		got := s.read(points...)
		s.want("the table "+t.String(), got[0], keys...)
		slices.Reverse(keys)
		s.want("the table "+t.String()+" in reverse", got[1], keys...)
		for i := range puts {
			k := puts[i].Key
			s.want("a point of "+t.String(), got[2+i], string(k.Bytes))
			if len(got[2+i]) > 0 && !bytes.Equal(got[2+i][0].Value, row(k, "value of "+ends[len(ends)-1-i]).Value) {
				s.Errorf("the row %q of the table %s has the value of another", k.Bytes, t)
			}
		}
	}
}

// check returns a check of a thread that holds. It creates the thread if it does not exist.
func (s place) check(thread string) rows.Check {
	s.Helper()
	rev := s.rev(thread)
	if rev == 0 {
		rev = s.create(thread)
	}
	return rows.Check{Thread: thread, Rev: rev}
}

// testRanges reads ranges with bounds and limits, among rows of other threads.
func testRanges(s place) {
	check := s.check("t")
	for _, t := range []rows.Table{rows.Records, rows.Index} {
		var puts []rows.Put
		for _, end := range []string{"a", "b", "c", "d", "e"} {
			puts = append(puts, row(key(t, "t", end), end), row(key(t, "s", end), end), row(key(t, "u", end), end))
		}
		s.apply(rows.Change{Checks: []rows.Check{check, s.check("s"), s.check("u")}, Puts: puts})
		var ranges []rows.Range
		var wants [][]string
		for _, c := range []struct {
			from, to string
			limit    int
			reverse  bool
			want     []string
		}{
			{"a", "f", 0, false, []string{"a", "b", "c", "d", "e"}},
			{"a", "e", 0, false, []string{"a", "b", "c", "d"}},
			{"b", "d", 0, false, []string{"b", "c"}},
			{"b", "d\x00", 0, false, []string{"b", "c", "d"}},
			{"b\x00", "d", 0, false, []string{"c"}},
			{"c", "c", 0, false, nil},
			{"d", "b", 0, false, nil},
			{"", "\xff", 0, true, []string{"e", "d", "c", "b", "a"}},
			{"b", "d", 0, true, []string{"c", "b"}},
			{"a", "f", 1, false, []string{"a"}},
			{"a", "f", 3, false, []string{"a", "b", "c"}},
			{"a", "f", 5, false, []string{"a", "b", "c", "d", "e"}},
			{"a", "f", 9, false, []string{"a", "b", "c", "d", "e"}},
			{"a", "f", 1, true, []string{"e"}},
			{"a", "e", 1, true, []string{"d"}},
			{"a", "f", 3, true, []string{"e", "d", "c"}},
			{"a", "a\x00", 1, true, []string{"a"}},
			{"", "a", 1, true, nil},
			{"a", "c", 1, true, []string{"b"}}, // of overlapping ranges, that of the next is greater
			{"a", "d", 1, true, []string{"c"}},
			{"", "z", 1, true, []string{"e"}},
			{"a", "b", 1, true, []string{"a"}},
		} {
			r := between(t, "t", "t/"+c.from, "t/"+c.to)
			r.Limit, r.Reverse = c.limit, c.reverse
			if t == rows.Index {
				r.Thread = ""
			}
			want := make([]string, len(c.want))
			for i, end := range c.want {
				want[i] = "t/" + end
			}
			s.want(rangeText(&r), s.read(r)[0], want...)
			ranges, wants = append(ranges, r), append(wants, want)
		}
		for i, got := range s.read(ranges...) {
			s.want("in a read of several ranges: "+rangeText(&ranges[i]), got, wants[i]...)
		}
		got := s.read(point(key(t, "t", "c")), point(key(t, "t", "")), point(key(t, "t", "cc")), point(key(t, "t", "c")))
		s.want("a point", got[0], "t/c")
		s.want("a point that is a prefix", got[1])
		s.want("a missing point", got[2])
		s.want("the same point again", got[3], "t/c")
	}
}

// testTables stores rows with the same key in all tables.
func testTables(s place) {
	check := s.check("t")
	for t := range tables {
		k := rows.Key{Table: rows.Table(t), Thread: "t", Bytes: []byte("t")}
		if k.Table == rows.Index {
			k.Thread = ""
		}
		s.apply(rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{row(k, k.Table.String())}})
		check = s.check("t")
	}
	for t := range tables {
		k := rows.Key{Table: rows.Table(t), Thread: "t", Bytes: []byte("t")}
		if k.Table == rows.Index {
			k.Thread = ""
		}
		found := s.read(point(k))[0]
		s.want("the table "+k.Table.String(), found, "t")
		if len(found) > 0 && !bytes.Equal(found[0].Value, row(k, k.Table.String()).Value) {
			s.Errorf("the table %s has a value of another table", k.Table)
		}
	}
}

// testBytes stores keys and values with every byte, and large ones.
func testBytes(s place) {
	every := make([]byte, 0, 512)
	for i := range 256 {
		every = append(every, byte(i), byte(255-i))
	}
	k, long, entry := key(rows.Writes, "t", "every byte"), key(rows.Writes, "t", ""), key(rows.Index, "t", "")
	long.Bytes = append(long.Bytes, bytes.Repeat([]byte{0xff}, 64-len(long.Bytes))...)
	entry.Bytes = append(entry.Bytes, bytes.Repeat([]byte{0xff}, rows.MaxKey-len(entry.Bytes))...)
	s.apply(rows.Change{Checks: []rows.Check{s.check("t")}, Puts: []rows.Put{row(k, string(every)), row(long, "x"), row(entry, "")}})
	got := s.read(point(k), point(long), all(rows.Writes, "t"), point(entry))
	s.want("the longest key", got[1], string(long.Bytes))
	s.want("both", got[2], string(k.Bytes), string(long.Bytes))
	s.want("the longest key of the index", got[3], string(entry.Bytes))
	if len(got[0]) != 1 || !bytes.Equal(got[0][0].Value, every) {
		s.Errorf("a value of all bytes comes back as %q", texts(got[:1]))
	}
}

// testChecks makes changes with revisions that hold, and that do not.
func testChecks(s place) {
	t, u := key(rows.Threads, "t", ""), key(rows.Threads, "u", "")
	mark := row(key(rows.Writes, "t", "mark"), "x")
	s.refused("a revision of a thread without a row", rows.Change{Checks: []rows.Check{{Thread: "t", Rev: 7}}, Puts: []rows.Put{mark}})
	first := s.create("t")
	if got := s.rev("t"); got != first || got == 0 {
		s.Errorf("a new row has the revision %d, and Apply returned %d; want the same, not 0", got, first)
	}
	s.refused("no row, of a thread that has one", rows.Change{Checks: []rows.Check{{Thread: "t"}}, Puts: []rows.Put{row(t, "again"), mark}})
	s.refused("a revision that is too great", rows.Change{Checks: []rows.Check{{Thread: "t", Rev: first + 1}}, Puts: []rows.Put{mark}})
	s.apply(rows.Change{Checks: []rows.Check{{Thread: "t", Rev: first}}, Puts: []rows.Put{row(key(rows.Writes, "t", "blind"), "x")}})
	if got := s.rev("t"); got != first {
		s.Errorf("a check alone changes the revision from %d to %d", first, got)
	}
	second, _ := s.apply(rows.Change{Checks: []rows.Check{{Thread: "t", Rev: first}}, Puts: []rows.Put{row(t, "second")}})
	s.refused("the revision before, with the row of the thread", rows.Change{Checks: []rows.Check{{Thread: "t", Rev: first}}, Puts: []rows.Put{row(t, "lost"), mark}})
	s.refused("the revision before, with a new row", rows.Change{
		Checks: []rows.Check{{Thread: "t", Rev: first}}, Puts: []rows.Put{newRow(mark.Key, "x")},
	})
	s.refused("the revision before, with a deletion", rows.Change{
		Checks: []rows.Check{{Thread: "t", Rev: first}}, Deletes: []rows.Range{point(key(rows.Writes, "t", "blind"))},
	})
	other := s.create("u")
	for _, checks := range [][]rows.Check{
		{{Thread: "t", Rev: second}, {Thread: "u", Rev: second + other}}, {{Thread: "t", Rev: first}, {Thread: "u", Rev: other}},
	} {
		s.refused("one of two checks", rows.Change{Checks: checks, Puts: []rows.Put{row(t, "lost"), row(u, "lost"), mark}})
	}
	both, _ := s.apply(rows.Change{Checks: []rows.Check{{Thread: "t", Rev: second}, {Thread: "u", Rev: other}}, Puts: []rows.Put{row(t, "3"), row(u, "3")}})
	if t, u := s.rev("t"), s.rev("u"); t != both || u != both {
		s.Errorf("a change of two threads returned %d, and their revisions are %d and %d", both, t, u)
	}
	got := s.read(all(rows.Writes, "t"))
	s.want("the rows of changes that were stored", got[0], "t/blind")
}

// testNew puts rows that must be new, where there is one already and where there is none.
func testNew(s place) {
	k, o := key(rows.Records, "t", "new"), key(rows.Records, "t", "other")
	check := s.check("t")
	s.apply(rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(k, "first")}})
	s.refused("a row that is not new", rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(k, "second")}})
	s.refused("one of two rows is not new", rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(o, "x"), newRow(k, "second")}})
	got := s.read(all(rows.Records, "t"), point(k))
	s.want("after refused changes", got[0], string(k.Bytes))
	if len(got[1]) != 1 || string(got[1][0].Value) != "first" {
		s.Errorf("a refused change altered a row to %q", texts(got[1:]))
	}
	s.apply(rows.Change{Checks: []rows.Check{check}, Deletes: []rows.Range{point(k)}})
	s.apply(rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{newRow(k, "third")}})
	s.apply(rows.Change{Checks: []rows.Check{check}, Puts: []rows.Put{row(k, "fourth")}})
	if got := s.read(point(k))[0]; len(got) != 1 || string(got[0].Value) != "fourth" {
		s.Errorf("got %q, want the newest row", texts([][]rows.Row{got}))
	}
}

// snapshot returns all rows as text.
func (s place) snapshot(threads ...string) string {
	s.Helper()
	ranges := []rows.Range{all(rows.Threads, ""), all(rows.Index, "")}
	for t := rows.Records; t < rows.Index; t++ {
		for _, thread := range threads {
			ranges = append(ranges, all(t, thread))
		}
	}
	var b bytes.Buffer
	for i, found := range s.read(ranges...) {
		for j := range found {
			r := &found[j]
			fmt.Fprintf(&b, "%s %q = %x", ranges[i].Table, r.Key, r.Value)
			if ranges[i].Table == rows.Threads {
				fmt.Fprintf(&b, ", revision %d", r.Rev)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// testWhole lets each part of a change fail, and wants nothing of it stored.
func testWhole(s place) {
	t := key(rows.Threads, "t", "")
	puts := []rows.Put{row(key(rows.Index, "t", "old"), "")}
	for tab := rows.Records; tab < rows.Index; tab++ {
		puts = append(puts, row(key(tab, "t", "old"), "old"), row(key(tab, "t", "taken"), "taken"))
	}
	rev := s.create("t", puts...)
	other := s.create("u")
	before := s.snapshot("t", "u")
	change := func() rows.Change {
		c := rows.Change{
			Checks:  []rows.Check{{Thread: "t", Rev: rev}, {Thread: "u", Rev: other}},
			Deletes: []rows.Range{point(key(rows.Index, "t", "old"))},
			Puts:    []rows.Put{row(t, "changed"), row(key(rows.Index, "t", "new"), ""), row(key(rows.Records, "u", "new"), "u")},
		}
		for tab := rows.Records; tab < rows.Index; tab++ {
			c.Deletes = append(c.Deletes, point(key(tab, "t", "old")))
			c.Puts = append(c.Puts, newRow(key(tab, "t", "new"), "new"))
		}
		return c
	}
	for what, spoil := range map[string]func(*rows.Change){
		"the first check": func(c *rows.Change) { c.Checks[0].Rev-- },
		"the last check":  func(c *rows.Change) { c.Checks[1].Rev-- },
		"a thread that has no row": func(c *rows.Change) {
			c.Checks = append(c.Checks, rows.Check{Thread: "v", Rev: rev})
		},
		"the first new row": func(c *rows.Change) {
			c.Puts = slices.Insert(c.Puts, 0, newRow(key(rows.Records, "t", "taken"), "lost"))
		},
		"the last new row": func(c *rows.Change) { c.Puts = append(c.Puts, newRow(key(rows.Versions, "t", "taken"), "lost")) },
	} {
		c := change()
		spoil(&c)
		s.refused(what, c)
		if after := s.snapshot("t", "u"); after != before {
			s.Errorf("%s does not hold, and the store changed from\n%s\nto\n%s", what, before, after)
		}
	}
	s.apply(change())
	if s.snapshot("t", "u") == before {
		s.Error("a change whose checks hold changed nothing")
	}
}

// testDeletes deletes points and ranges, with puts in the same change.
func testDeletes(s place) {
	for tab := rows.Records; tab <= rows.Index; tab++ {
		k := func(end string) rows.Key { return key(tab, "t", end) }
		within := between(tab, k("").Thread, "t/b", "t/e")
		var puts []rows.Put
		for _, end := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			puts = append(puts, row(k(end), "old"))
		}
		s.apply(rows.Change{Checks: []rows.Check{s.check("t")}, Puts: puts})
		s.apply(rows.Change{
			Checks:  []rows.Check{s.check("t")},
			Deletes: []rows.Range{within, point(k("f")), point(k("g")), point(k("none")), between(tab, within.Thread, "t/h", "t/z")},
			Puts:    []rows.Put{row(k("b"), "new"), row(k("cc"), "new"), row(k("g"), "new")},
		})
		got := s.read(all(tab, "t"))[0]
		got = slices.DeleteFunc(got, func(r rows.Row) bool { return !bytes.HasPrefix(r.Key, []byte("t/")) })
		s.want("the table "+tab.String(), got, "t/a", "t/b", "t/cc", "t/e", "t/g")
		want := []string{"old", "new", "new", "old", "new"}
		for i := range got {
			if tab != rows.Index && i < len(want) && string(got[i].Value) != want[i] {
				s.Errorf("%s: the row %q is %q, want %q", tab, got[i].Key, got[i].Value, want[i])
			}
		}
	}
	s.create("u")
	s.apply(rows.Change{Checks: []rows.Check{s.check("t")}, Deletes: []rows.Range{point(key(rows.Threads, "t", ""))}})
	s.want("threads, after one was removed", s.read(all(rows.Threads, ""))[0], "u")
}

// testReads reads in the call that changes rows, and wants the rows after the change.
func testReads(s place) {
	k := func(end string) rows.Key { return key(rows.Writes, "t", end) }
	s.create("t", row(k("a"), "old"), row(k("b"), "old"), row(k("c"), "old"))
	last := all(rows.Writes, "t")
	last.Limit, last.Reverse = 1, true
	rev, got := s.apply(rows.Change{
		Checks:  []rows.Check{s.check("t")},
		Deletes: []rows.Range{point(k("a"))},
		Puts:    []rows.Put{row(key(rows.Threads, "t", ""), "now"), row(k("b"), "new"), newRow(k("d"), "new")},
		Reads:   []rows.Range{all(rows.Writes, "t"), last, point(k("a")), point(k("b")), point(key(rows.Threads, "t", ""))},
	})
	s.want("all", got[0], "t/b", "t/c", "t/d")
	s.want("the last", got[1], "t/d")
	s.want("a row that the change removes", got[2])
	s.want("a row that the change puts", got[3], "t/b")
	if len(got[3]) == 1 && string(got[3][0].Value) != "new" {
		s.Errorf("the row that the change puts is %q, want %q", got[3][0].Value, "new")
	}
	s.want("the thread", got[4], "t")
	if len(got[4]) == 1 && got[4][0].Rev != rev {
		s.Errorf("the thread has the revision %d, and Apply returned %d", got[4][0].Rev, rev)
	}
}

// testRevisions changes rows again and again, and wants growing revisions.
func testRevisions(s place) {
	t := key(rows.Threads, "t", "")
	var last uint64
	for i := range 20 {
		rev := s.create("t")
		for j := range 5 {
			if rev <= last {
				s.Fatalf("round %d, change %d: the revision is %d after %d, want a greater one", i, j, rev, last)
			}
			last = rev
			rev, _ = s.apply(rows.Change{Checks: []rows.Check{{Thread: "t", Rev: last}}, Puts: []rows.Put{row(t, "the same")}})
		}
		s.create(fmt.Sprint("other ", i))
		if got := s.rev("t"); got != rev {
			s.Fatalf("round %d: the revision is %d, and Apply returned %d", i, got, rev)
		}
		last = rev
		s.apply(rows.Change{Checks: []rows.Check{{Thread: "t", Rev: rev}}, Deletes: []rows.Range{point(t)}})
		if got := s.rev("t"); got != 0 {
			s.Fatalf("round %d: the row of the thread was removed, and is there", i)
		}
	}
}

// testItems changes rows of Items and Entries, which belong to no thread.
func testItems(s place) {
	item := func(end string) rows.Key { return rows.Key{Table: rows.Items, Bytes: []byte("i/" + end)} }
	entry := func(end string) rows.Key { return rows.Key{Table: rows.Entries, Bytes: []byte("i/" + end)} }
	check := func(k rows.Key, rev uint64) rows.Check {
		return rows.Check{Table: rows.Items, Thread: string(k.Bytes), Rev: rev}
	}
	s.create("i/a") // another row with the key of an item
	var c rows.Change
	var items, entries []string
	for _, end := range ends {
		c.Checks = append(c.Checks, check(item(end), 0))
		c.Puts = append(c.Puts, row(item(end), "item "+end), newRow(entry(end), "entry "+end))
		items, entries = append(items, string(item(end).Bytes)), append(entries, string(entry(end).Bytes))
	}
	long := entry(strings.Repeat("\xff", rows.MaxKey-2))
	c.Puts = append(c.Puts, row(long, "x"))
	first, _ := s.apply(c)
	back := between(rows.Items, "", "i/", "i0")
	back.Reverse = true
	got := s.read(between(rows.Items, "", "i/", "i0"), back, between(rows.Entries, "", "i/", "i/\xff\xff\xff"), point(long), point(item("a")), point(entry("a")))
	s.want("all items", got[0], items...)
	s.want("all entries", got[2], entries...)
	s.want("the longest key", got[3], string(long.Bytes))
	slices.Reverse(items)
	s.want("all items in reverse", got[1], items...)
	if len(got[4]) != 1 || got[4][0].Rev != first || string(got[4][0].Value) != "item a" || len(got[5]) != 1 || string(got[5][0].Value) != "entry a" {
		s.Errorf("got the item %+v and its entry %+v, want the revision %d and their values", got[4], got[5], first)
	}
	a, b := item("a"), item("b")
	s.refused("no row, of an item that has one", rows.Change{Checks: []rows.Check{check(a, 0)}, Puts: []rows.Put{row(a, "lost")}})
	s.refused("an entry that is not new", rows.Change{Checks: []rows.Check{check(a, first)}, Puts: []rows.Put{row(a, "lost"), newRow(entry("a"), "lost")}})
	second, _ := s.apply(rows.Change{Checks: []rows.Check{check(a, first)}, Puts: []rows.Put{row(a, "2")}, Deletes: []rows.Range{point(entry("a"))}})
	s.refused("one of two checks", rows.Change{Checks: []rows.Check{check(a, first), check(b, first)}, Puts: []rows.Put{row(b, "lost")}})
	_, read := s.apply(rows.Change{
		Checks: []rows.Check{check(a, second), check(b, first)}, Puts: []rows.Put{row(b, "2")}, Reads: []rows.Range{point(a), point(b), point(entry("a"))},
	})
	if second <= first || read[0][0].Rev != second || read[1][0].Rev <= first || len(read[2]) > 0 {
		s.Errorf("got the revisions %d and then %+v and %+v, want that of a checked item to stay", second, read[0], read[1])
	}
	s.apply(rows.Change{Checks: []rows.Check{check(a, second)}, Deletes: []rows.Range{point(a)}})
	if again, _ := s.apply(rows.Change{Checks: []rows.Check{check(a, 0)}, Puts: []rows.Put{row(a, "3")}}); again <= second {
		s.Errorf("an item that is made again has the revision %d after %d", again, second)
	}
	if got := s.read(point(key(rows.Threads, "i/a", "")))[0]; len(got) != 1 || string(got[0].Value) != "created" {
		s.Errorf("the row of the thread with the key of an item: got %q", texts([][]rows.Row{got}))
	}
}

// testNamed reads the items that rows of Entries name. Some of these items do not exist.
func testNamed(s place) {
	item := func(end string) rows.Key { return rows.Key{Table: rows.Items, Bytes: []byte("i/\x00" + end)} }
	entry := func(before, end string) rows.Key {
		return rows.Key{Table: rows.Entries, Bytes: slices.Concat([]byte(before), item(end).Bytes)}
	}
	const form = "e\x00\x01"
	var c rows.Change
	var exist, missing []string
	for i, end := range ends {
		c.Puts = append(c.Puts, row(entry(form, end), "x"), row(entry("e\x00", end), "x"), row(entry("e\x00\x02", end), "x"))
		if i%3 == 1 {
			missing = append(missing, end)
			continue
		}
		c.Checks = append(c.Checks, rows.Check{Table: rows.Items, Thread: string(item(end).Bytes)})
		c.Puts = append(c.Puts, row(item(end), "item "+end))
		exist = append(exist, string(item(end).Bytes))
	}
	rev, _ := s.apply(c)
	named := func(first, end string, limit int) rows.Range {
		r := between(rows.Entries, "", form+first, form+end)
		r.Items, r.Limit = len(form), limit
		return r
	}
	last := string(item("\xff\xff\xff").Bytes)
	ranges, wants := []rows.Range{named("", last, 0), named("x", "y", 0), named(exist[5], exist[5], 0)}, [][]string{exist, nil, nil}
	for limit := 1; limit <= len(exist)+1; limit++ {
		ranges, wants = append(ranges, named("", last, limit)), append(wants, exist[:min(limit, len(exist))])
	}
	for i := range exist {
		ranges, wants = append(ranges, named(exist[i], last, 3)), append(wants, exist[i:min(i+3, len(exist))])
		ranges, wants = append(ranges, named(exist[i]+"\x00", exist[len(exist)-1], 0)), append(wants, exist[min(i+1, len(exist)-1):len(exist)-1])
	}
	for i := range ranges {
		s.want(rangeText(&ranges[i]), s.read(ranges[i])[0], wants[i]...)
	}
	for i, got := range s.read(ranges...) {
		s.want("in a read of several ranges: "+rangeText(&ranges[i]), got, wants[i]...)
		for j := range got {
			if want := "item " + string(got[j].Key[len(item("").Bytes):]); got[j].Rev != rev || string(got[j].Value) != want {
				s.Errorf("got the item %+v, want the revision %d and the value %q", got[j], rev, want)
			}
		}
	}
	got := s.read(point(item(missing[0])), between(rows.Entries, "", form, "e\x00\x02"), named("", last, 1))
	if len(got[0]) > 0 || len(got[1]) != len(ends) || len(got[2]) != 1 {
		s.Errorf("a missing item, all entries and the first item: got %d, %d and %d rows", len(got[0]), len(got[1]), len(got[2]))
	}
}

// testMany changes and reads many rows in one call.
func testMany(s place) {
	const n = 500
	check := s.check("t")
	var puts []rows.Put
	var points []rows.Range
	for i := range n {
		end := fmt.Sprintf("%04d", i)
		puts = append(puts, newRow(key(rows.Records, "t", end), "record "+end), row(key(rows.Index, "t", end), ""))
		points = append(points, point(key(rows.Records, "t", end)))
	}
	_, after := s.apply(rows.Change{Checks: []rows.Check{check}, Puts: puts, Reads: []rows.Range{all(rows.Records, "t")}})
	if len(after[0]) != n {
		s.Errorf("after a change of %d rows, its read returned %d", n, len(after[0]))
	}
	for i, got := range s.read(points...) {
		end := fmt.Sprintf("%04d", i)
		s.want("one of many points", got, "t/"+end)
		if len(got) == 1 && string(got[0].Value) != "record "+end {
			s.Errorf("the row %q has the value %q", got[0].Key, got[0].Value)
		}
	}
	s.apply(rows.Change{Checks: []rows.Check{check}, Deletes: points[:n/2]})
	if got := s.read(all(rows.Records, "t"), all(rows.Index, "t")); len(got[0]) != n/2 || len(got[1]) != n {
		s.Errorf("after %d deletions: got %d records and %d rows of the index; want %d and %d", n/2, len(got[0]), len(got[1]), n/2, n)
	}
	s.apply(rows.Change{Checks: []rows.Check{check}, Deletes: []rows.Range{all(rows.Records, "t"), between(rows.Index, "", "t/", "t0")}})
	if got := s.read(all(rows.Records, "t"), all(rows.Index, "t")); len(got[0])+len(got[1]) != 0 {
		s.Errorf("after deletions of ranges: got %d records and %d rows of the index; want none", len(got[0]), len(got[1]))
	}
}

// testClock wants a clock that does not go back, and is finer than a second.
func testClock(s place) {
	var before time.Time
	fine := false
	for i := range 50 {
		_, now, err := s.store.Read(s.Context(), all(rows.Threads, ""))
		if err != nil {
			s.Fatal(err)
		}
		if now.Before(before) {
			s.Fatalf("read %d: the time is %v after %v", i, now, before)
		}
		before, fine = now, fine || now.Nanosecond()%1e6 != 0
	}
	if !fine {
		s.Errorf("50 times are whole milliseconds, the last is %v; a saver estimates the time between reads, and finds that such a clock goes back", before)
	}
}

// testEnded makes calls under a context that has ended.
func testEnded(s place) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, _, err := s.store.Read(ctx, all(rows.Threads, "")); !errors.Is(err, context.Canceled) {
		s.Errorf("Read: got error %v, want context.Canceled", err)
	}
	c := rows.Change{Checks: []rows.Check{{Thread: "t"}}, Puts: []rows.Put{row(key(rows.Threads, "t", ""), "x")}}
	if _, _, err := s.store.Apply(ctx, &c); !errors.Is(err, context.Canceled) {
		s.Errorf("Apply: got error %v, want context.Canceled", err)
	}
	s.want("threads", s.read(all(rows.Threads, ""))[0])
}

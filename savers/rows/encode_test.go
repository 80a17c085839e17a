package rows

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// id returns an id whose bytes come from n.
func id(n byte) (id checkpoint.ID) {
	for i := range id {
		id[i] = n + byte(i)
	}
	return id
}

// example is a row of each kind, with the key that its stored form is bound to.
type example struct {
	key   []byte
	value value
	parse func(*Row) (any, error)
}

func examples() []example {
	at := func(n int64) time.Time { return time.UnixMicro(n).UTC() }
	l := logOf("t", rootOf(id(1), 1), "child")
	r := l.prefix
	return []example{
		{[]byte("t"), &threadRow{
			ID: "t", About: ledger.About{Graph: "g", Created: at(1), Birth: id(2), Title: "title", Labels: map[string]string{"a": "b"}, Priority: checkpoint.High},
			Last: 3, Open: 2, Versions: 1, Root: rootOf(id(3), 2), Status: checkpoint.Waiting, Fence: id(4), Holder: "h", Until: at(2), Updated: at(3),
			Wake: at(4), Attempts: 5, Posted: 6, Inputs: 7, Others: 8, Cancels: 9, Handled: 10, Forgot: 11, Asked: true, Missing: 12, Rewrites: 14, Head: id(5), Step: 13, Chain: 15,
		}, func(r *Row) (any, error) { return r.thread() }},
		{[]byte("u"), &threadRow{ID: "u", transit: transit{Arriving, "a", id(1), at(1), true}}, func(r *Row) (any, error) { return r.thread() }},
		{l.key(id(7)), &recordRow{checkpoint.Record{
			ID: id(8), Seq: 9, Parent: id(7), Base: id(8), Line: id(1), Commits: id(7), Step: 4, Source: checkpoint.Loop, Ran: []string{"a"},
			Due: []checkpoint.Task{{Node: "b", Index: 1, Payload: []byte{1}}}, Created: at(5), Payload: []byte{2}, Graph: "g", Fingerprint: 3,
		}}, recordOf},
		{l.key(id(9)), &packRow{3, 4, []byte("body")}, recordOf},
		{l.name(), name("child"), func(r *Row) (any, error) { n, err := r.name(); return name(n), err }},
		{append(bytes.Clone(r), 1), &writeRow{checkpoint.Write{Namespace: "child", Base: id(1), Task: "task", Kind: checkpoint.Result, Payload: []byte{3}}, 17},
			func(r *Row) (any, error) { return r.write() }},
		{messageKey("t", untaken, 3), &messageRow{checkpoint.Message{
			Number: 3, ID: "m", Kind: checkpoint.SignalMessage, Name: "n", Key: "k", Payload: []byte{4}, Posted: at(6), Refused: "late",
		}}, func(r *Row) (any, error) { m, err := r.message(); return &messageRow{m}, err }},
		{messageIDKey("t", "m"), place{3, 4}, func(r *Row) (any, error) { return r.place() }},
		{versionKey("t", 2), &version{2, rootOf(id(6), 2), checkpoint.Done, at(7), at(8), id(9), 10}, func(r *Row) (any, error) { v, err := r.version(); return &v, err }},
	}
}

// recordOf returns what a row of Records has.
func recordOf(r *Row) (any, error) {
	single, several, err := r.records()
	if single != nil {
		return &recordRow{*single}, err
	}
	return several, err
}

func TestValuesComeBack(t *testing.T) {
	for _, e := range examples() {
		b := e.value.appendTo(nil, e.key)
		got, err := e.parse(&Row{Key: e.key, Value: b})
		if err != nil || !reflect.DeepEqual(got, any(e.value)) {
			t.Errorf("%T: got %+v, %v\nwant %+v\n%s", e.value, got, err, e.value, cmp.Diff(e.value, got, cmp.Exporter(func(reflect.Type) bool { return true })))
		}
	}
}

// Each bit counts: of the value, and of the key that the value belongs to.
func TestDamagedValuesAreErrors(t *testing.T) {
	for _, e := range examples() {
		b := e.value.appendTo(nil, e.key)
		for i := range b {
			other := slices.Clone(b)
			other[i] ^= 0x10
			if _, err := e.parse(&Row{Key: e.key, Value: other}); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("%T with byte %d changed: got %v, want ErrDamaged", e.value, i, err)
			}
		}
		key := bytes.Clone(e.key)
		key[0] ^= 1
		if _, err := e.parse(&Row{Key: key, Value: b}); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%T with the key of another row: got %v, want ErrDamaged", e.value, err)
		}
	}
}

// FuzzValues reads any bytes with a right checksum as each kind of value.
func FuzzValues(f *testing.F) {
	for i, e := range examples() {
		b := e.value.appendTo(nil, e.key)
		f.Add(uint8(i), b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		e := examples()[int(kind)%len(examples())]
		got, err := e.parse(&Row{Key: e.key, Value: seal(slices.Clone(b), 0, e.key)})
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%T: got %v, want ErrDamaged", e.value, err)
		}
		if v, ok := got.(value); err == nil && ok {
			again, err := e.parse(&Row{Key: e.key, Value: v.appendTo(nil, e.key)})
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%T, stored again: got %+v, %v, want %+v", e.value, again, err, got)
			}
		}
	})
}

// The order of keys of an index is that of a list that is newest first, for any ids.
func TestKeysOfListsAreNewestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type listed struct {
		id      string
		created time.Time
	}
	var all []listed
	for range 2000 {
		b := make([]byte, random.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 0xfe, 0xff}[random.IntN(5)]
		}
		all = append(all, listed{"i" + string(b), time.UnixMicro(int64(1 + random.IntN(3))).UTC()})
	}
	slices.SortFunc(all, func(a, b listed) int { return ledger.Newer(a.id, b.id, a.created, b.created) })
	for i := range all {
		key := listKey(all[i].created, all[i].id)
		if got, rest, ok := listedID(append(key, "graph"...)); !ok || string(got) != all[i].id || string(rest) != "graph" {
			t.Errorf("the key of %q is that of %q", all[i].id, got)
		}
		if i > 0 && all[i] != all[i-1] && bytes.Compare(listKey(all[i-1].created, all[i-1].id), key) >= 0 {
			t.Errorf("the key of %+v is not before that of %+v", all[i-1], all[i])
		}
	}
}

func TestAfterIsGreaterThanAllWithThePrefix(t *testing.T) {
	for _, prefix := range [][]byte{{}, {0}, {1, 0xff}, {0xff}, {0xff, 0xff}} {
		to := after(prefix)
		if with := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 100)...); bytes.Compare(with, to) >= 0 {
			t.Errorf("a key with the prefix %x is not before %x", prefix, to)
		}
	}
}

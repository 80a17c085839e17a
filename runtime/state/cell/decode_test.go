package cell_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// pack writes a value with another library.
func pack(t *testing.T, v any) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.SetSortMapKeys(true)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type (
	object = map[string]any
	array  = []any
)

// change returns a delta with the operations on one field.
func change(t *testing.T, field string, ops ...any) []byte {
	t.Helper()
	return pack(t, array{0, object{field: ops}})
}

func decoded(t *testing.T, opts cell.Options, snapshot []byte, deltas ...[]byte) live {
	t.Helper()
	l := newLive(opts)
	if err := l.Decode(snapshot); err != nil {
		t.Fatal(err)
	}
	for _, d := range deltas {
		if err := l.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func snapshotOf(t *testing.T, l live) object {
	t.Helper()
	b, err := l.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	var m object
	if err := msgpack.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnotherLibrarysDataIsRead(t *testing.T) {
	l := decoded(t, cell.Options{}, pack(t, object{
		"Log": array{"a", "b"}, "Sum": 70000, "Ratio": 1, "And": true, "Facts": object{"k": object{"Source": "s", "Text": "t", "Score": 2}},
		"Plan": object{"Goal": "g", "Steps": nil, "Next": nil}, "docs": array{object{"Title": "t", "Pages": array{"p"}}},
	}))
	want := ref.Everything{
		Log: []string{"a", "b"}, Sum: 70000, Ratio: 1, And: true, Facts: map[string]ref.Fact{"k": {Source: "s", Text: "t", Score: 2}},
		Plan: &ref.Plan{Goal: "g"}, Docs: []ref.Doc{{Title: "t", Pages: []string{"p"}}},
	}
	if diff := cmp.Diff(want, l.View()); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestUnknownFieldsAreCarried(t *testing.T) {
	l := decoded(t, cell.Options{Record: true}, pack(t, object{"AAA": 1, "Log": array{"a"}, "zebra": object{"x": array{1}}}),
		change(t, "zebra", delta.Put, object{"y": 2}),
		change(t, "new", delta.Append, array{1, 2}),
		change(t, "new", delta.Append, array{3}, delta.SetAt, array{0, "one"}),
		change(t, "AAA", delta.Clear, nil),
	)
	merged(t, l, func(u *ref.EverythingUpdate) { u.Log.Append("b") })
	size, _ := l.Sizes()
	want := object{
		"Log": array{"a", "b"}, "zebra": object{"x": array{int8(1)}, "y": int8(2)}, "new": array{"one", int8(2), int8(3)},
	}
	if diff := cmp.Diff(want, snapshotOf(t, l)); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if b, _ := l.AppendSnapshot(nil); len(b) != size {
		t.Errorf("Sizes() said %d, the snapshot has %d bytes", size, len(b))
	}
	l.Load(ref.Everything{})
	if got := snapshotOf(t, l); len(got) != 0 {
		t.Errorf("after Load the snapshot has %v, want nothing", got)
	}
}

func TestUnknownNestedFieldsAreRefusedUnlessDropped(t *testing.T) {
	snapshot := pack(t, object{
		"Messages": array{object{"ID": "1", "Mood": "good"}, object{"ID": "2"}}, "Facts": object{"k": object{"Source": "s", "Age": 3}},
		"Plan": object{"Goal": "g", "Due": array{1, object{}}},
	})
	d := change(t, "Messages", delta.Append, array{object{"ID": "3", "Mood": nil}}, delta.SetAt, array{0, object{"ID": "1", "Mood": 1}})
	l := newLive(cell.Options{})
	err := l.Decode(snapshot)
	var dec *state.DecodeError
	if !errors.Is(err, wire.ErrUnknownField) || !errors.As(err, &dec) || dec.Field != "Facts" {
		t.Errorf("Decode: got %v, want ErrUnknownField in Facts", err)
	}
	l = decoded(t, cell.Options{}, []byte{0x80})
	if err := l.Apply(d); !errors.Is(err, wire.ErrUnknownField) {
		t.Errorf("Apply: got %v, want ErrUnknownField", err)
	}
	l = decoded(t, cell.Options{Record: true, DropUnknown: true}, snapshot, d)
	want := ref.Everything{
		Messages: []ref.Message{{ID: "1"}, {ID: "2"}, {ID: "3"}}, Facts: map[string]ref.Fact{"k": {Source: "s"}}, Plan: &ref.Plan{Goal: "g"},
	}
	if diff := cmp.Diff(want, l.View()); diff != "" {
		t.Errorf("with DropUnknown (-want +got):\n%s", diff)
	}
	size, _ := l.Sizes()
	if b, err := l.AppendSnapshot(nil); err != nil || len(b) != size {
		t.Errorf("Sizes() said %d, the snapshot has %d bytes (%v)", size, len(b), err)
	}
}

func TestAFieldThatIsStoredTwiceIsRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"a known field": []byte("\x82\xa3Sum\x01\xa3Sum\x02"), "an unknown one": []byte("\x82\xa3new\x01\xa3new\x02"),
	} {
		if err := newLive(cell.Options{}).Decode(b); err == nil || !strings.Contains(err.Error(), "second time") {
			t.Errorf("%s: got %v, want an error that says so", name, err)
		}
	}
}

func TestAnUntrackedFieldThatWasStoredOnceIsLeftOut(t *testing.T) {
	l := decoded(t, cell.Options{Record: true}, pack(t, object{"Cache": object{"Hits": 3}}), change(t, "Cache", delta.Set, 1))
	if got := snapshotOf(t, l); l.View().Cache != nil || len(got) != 0 {
		t.Errorf("got %v, written back as %v, want neither", l.View().Cache, got)
	}
}

func TestOldNamesAreRead(t *testing.T) {
	docs := array{object{"Title": "t", "Pages": nil}}
	for _, name := range []string{"docs", "old_docs", "papers"} {
		l := decoded(t, cell.Options{}, pack(t, object{name: docs}), change(t, name, delta.Append, docs))
		if got := len(l.View().Docs); got != 2 {
			t.Errorf("%s: got %d docs, want 2", name, got)
		}
		want := object{"docs": append(docs, docs...), "was,old_docs": "docs", "was,papers": "docs"}
		if diff := cmp.Diff(want, snapshotOf(t, l)); diff != "" {
			t.Errorf("%s: written back (-want +got):\n%s", name, diff)
		}
		var u, wantUpdate ref.EverythingUpdate
		if err := ref.EverythingSchema.DecodeUpdate(pack(t, object{name: array{2, docs}}), &u); err != nil {
			t.Errorf("%s: update: %v", name, err)
		}
		if wantUpdate.Docs.Append(ref.Doc{Title: "t"}); !u.Equal(wantUpdate) {
			t.Errorf("%s: update is %v, want %v", name, u, wantUpdate)
		}
	}
	err := newLive(cell.Options{}).Decode(pack(t, object{"docs": docs, "papers": docs}))
	if err == nil || !strings.Contains(err.Error(), "two of its names") {
		t.Errorf("under two names: got %v, want an error that says so", err)
	}
}

func TestDecodeErrorsNameThePlace(t *testing.T) {
	tests := []struct {
		name     string
		snapshot any
		delta    []byte
		field    string
		want     string
	}{
		{"wrong type", object{"Sum": true}, nil, "Sum", "state: stored data: State.Sum: want int64, got bool"},
		{"deep", object{"Messages": array{object{"ID": "1"}, object{"ID": object{}}}}, nil, "Messages", "State.Messages[1].ID: want string, got map"},
		{"in a map", object{"Facts": object{"a b": object{"Score": "x"}}}, nil, "Facts", `State.Facts["a b"].Score: want float64, got string`},
		{"no map", array{}, nil, "", "State: want map, got array"},
		{"in a delta", object{}, change(t, "Messages", delta.Append, array{object{"ID": 1}}), "Messages", "State delta[1].Messages[1][0].ID: want string, got int"},
		{"no such operation", object{}, change(t, "Messages", 77, nil), "Messages", "no such operation"},
		{"an operation without an operand", object{}, change(t, "Messages", 0), "Messages", "without an operand"},
		{"a delta that is none", object{}, pack(t, object{}), "", "want array of 2, got map"},
		{"an index past the end", object{"Messages": array{}}, change(t, "Messages", delta.SetAt, array{0, object{}}), "Messages", "no element has this index"},
		{"an index below 0", object{"Messages": array{object{}}}, change(t, "Messages", delta.SetAt, array{-1, object{}}), "Messages", "no element has this index"},
		{"indexes out of order", object{"Messages": array{object{}, object{}}}, change(t, "Messages", delta.RemoveAt, array{1, 0}), "Messages", "no element has this index"},
		{"a list's operation on a map", object{"Facts": object{}}, change(t, "Facts", delta.Append, array{1}), "Facts", "on a list"},
		{"a map's operation on a list", object{"Messages": array{}}, change(t, "Messages", delta.Put, object{"a": 1}), "Messages", "on a map"},
		{"negative dead bytes", object{}, pack(t, array{-1, object{}}), "", "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := ref.StateSchema.New(cell.Options{})
			if tt.name == "wrong type" {
				tt.snapshot = object{"Tokens": true}
				tt.field, tt.want = "Tokens", "state: stored data: State.Tokens: want int64, got bool"
			}
			err := l.Decode(pack(t, tt.snapshot))
			if tt.delta != nil {
				if err != nil {
					t.Fatal(err)
				}
				err = l.Apply(tt.delta)
			}
			var dec *state.DecodeError
			var at *wire.Error
			if !errors.As(err, &dec) || !errors.As(err, &at) {
				t.Fatalf("got %v, want a *DecodeError with a *wire.Error in it", err)
			}
			if dec.Field != tt.field || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q of field %q, want %q of field %q", err, dec.Field, tt.want, tt.field)
			}
		})
	}
}

func TestADeltaOutlivesAChangedReducer(t *testing.T) {
	// Labels, Vector and Set are replaced as a whole now; these deltas are of a time when they
	// were merged and appended to. Log was a map that nobody wrote to.
	l := decoded(t, cell.Options{Record: true}, pack(t, object{"Labels": object{"a": "1"}, "Vector": array{0.5}}),
		change(t, "Labels", delta.Put, object{"b": "2"}, delta.Delete, array{"a"}),
		change(t, "Vector", delta.Append, array{1.5}, delta.SetAt, array{0, 2.5}),
		change(t, "Log", delta.Delete, array{"x"}),
		change(t, "Set", delta.Set, "s"),
	)
	want := ref.Everything{Labels: map[string]string{"b": "2"}, Vector: []float64{2.5, 1.5}, Set: "s"}
	if diff := cmp.Diff(want, l.View()); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	size, _ := l.Sizes()
	if b, err := l.AppendSnapshot(nil); err != nil || len(b) != size {
		t.Errorf("Sizes() said %d, the snapshot has %d bytes (%v)", size, len(b), err)
	}
	long := []any{delta.Append, array{0}}
	for i := range 20000 {
		long = append(long, delta.SetAt, array{0, i})
	}
	if err := l.Apply(change(t, "Vector", long...)); err != nil || l.View().Vector[0] != 19999 {
		t.Errorf("after many operations Vector is %v, %v", l.View().Vector, err)
	}
	if err := l.Apply(change(t, "Vector", delta.Append, array{"text"})); err == nil || !strings.Contains(err.Error(), "Vector") {
		t.Errorf("an appended string in a list of numbers: got %v, want an error of Vector", err)
	}
}

func TestMigrateReadsWhatChangedItsType(t *testing.T) {
	l := decoded(t, cell.Options{Record: true}, pack(t, object{"Sum": "12", "Log": array{"a"}}))
	if got := l.View(); got.Sum != 12 || len(got.Log) != 1 {
		t.Errorf("migrated: got %+v, want Sum 12 and one line", got)
	}
	if err := l.Apply(change(t, "Sum", delta.Set, "30")); err != nil || l.View().Sum != 30 {
		t.Errorf("after a delta of the old type: Sum is %d, %v, want 30", l.View().Sum, err)
	}
	if err := l.Apply(change(t, "Log", delta.Append, array{"b"})); err != nil || l.View().Sum != 30 {
		t.Errorf("after a delta of another field: Sum is %d, %v, want 30", l.View().Sum, err)
	}
	size, _ := l.Sizes()
	if got := snapshotOf(t, l); got["Sum"] != int8(30) {
		t.Errorf("written back as %v, want Sum 30", got)
	}
	if b, err := l.AppendSnapshot(nil); err != nil || len(b) != size {
		t.Errorf("Sizes() said %d, the snapshot has %d bytes (%v)", size, len(b), err)
	}
	if err := l.Apply(change(t, "Sum", delta.Clear, nil)); err != nil || l.View().Sum != 0 {
		t.Errorf("after Clear: Sum is %d, %v, want 0", l.View().Sum, err)
	}

	mended := decoded(t, cell.Options{}, pack(t, object{"Sum": 1}), change(t, "Sum", delta.Set, "old", delta.Set, 5))
	if got := mended.View().Sum; got != 5 {
		t.Errorf("set to the old type and then to the new: Sum is %d, want 5", got)
	}
	fresh := decoded(t, cell.Options{}, []byte{0x80}, change(t, "Sum", delta.Set, "8"))
	if got := fresh.View().Sum; got != 8 {
		t.Errorf("from a delta alone: Sum is %d, want 8", got)
	}
	merged(t, fresh, func(u *ref.EverythingUpdate) { u.Sum.Add(1) })
	if got := fresh.View().Sum; got != 9 {
		t.Errorf("after a merge: Sum is %d, want 9", got)
	}

	err := newLive(cell.Options{}).Decode(pack(t, object{"Sum": "12", "Log": 7}))
	var dec *state.DecodeError
	if !errors.As(err, &dec) || dec.Field != "Log" || !strings.Contains(err.Error(), "Migrate did not read it") {
		t.Errorf("got %v, want a *DecodeError of Log, of which Migrate did not think", err)
	}
	err = newLive(cell.Options{}).Decode(pack(t, object{"Log": 7}))
	if !errors.As(err, &dec) || dec.Field != "Log" || !strings.Contains(err.Error(), "no idea how to read [Log]") {
		t.Errorf("got %v, want Migrate's error as a *DecodeError of Log", err)
	}
	if err := newLive(cell.Options{}).Decode([]byte{0x81, 0xa3, 'S', 'u', 'm'}); err == nil {
		t.Error("truncated data went to Migrate, want an error")
	}
}

func TestOldReadsBasicValues(t *testing.T) {
	snapshot := pack(t, object{"A": "text", "B": -5, "C": 1.5, "D": true, "E": array{1}})
	var core cell.Core
	core.Init("S", cell.Options{}, 5)
	var cells [5]cell.ValueCell[[]string]
	fields := make([]cell.ValueField[[]string], 5)
	var values [5][]string
	for i, name := range []string{"A", "B", "C", "D", "E"} {
		fields[i] = cell.ValueField[[]string]{Field: shape.Field{Name: name, Wire: name, Reducer: "replace"}, Codec: words{}}
		cells[i].Bind(&core, &fields[i], &values[i])
	}
	called := false
	core.OnMigrate(func(old *state.OldFields) error {
		called = true
		if got, want := old.Names(), []string{"A", "B", "C", "D", "E"}; !cmp.Equal(got, want) {
			t.Errorf("Names() = %v, want %v", got, want)
		}
		if v, ok := old.String("A"); v != "text" || !ok {
			t.Errorf("String(A) = %q, %v", v, ok)
		}
		if v, ok := old.Int("B"); v != -5 || !ok {
			t.Errorf("Int(B) = %d, %v", v, ok)
		}
		if v, ok := old.Float("C"); v != 1.5 || !ok {
			t.Errorf("Float(C) = %v, %v", v, ok)
		}
		if v, ok := old.Bool("D"); !v || !ok {
			t.Errorf("Bool(D) = %v, %v", v, ok)
		}
		if raw, ok := old.Raw("E"); string(raw) != "\x91\x01" || !ok {
			t.Errorf("Raw(E) = %x, %v", raw, ok)
		}
		for _, name := range []string{"B", "nobody"} {
			if v, ok := old.String(name); ok {
				t.Errorf("String(%s) = %q, true, want false", name, v)
			}
		}
		if _, ok := old.Raw("nobody"); ok {
			t.Error("Raw(nobody): want false")
		}
		return nil
	})
	if err := core.Decode(snapshot); err != nil || !called {
		t.Errorf("Decode: %v, Migrate called: %v", err, called)
	}
}

// words is the codec of lists of strings.
type words struct{}

func (words) Append(b []byte, v *[]string) ([]byte, error) {
	b = wire.AppendArrayLen(b, len(*v))
	for _, s := range *v {
		b = wire.AppendString(b, s)
	}
	return b, nil
}

func (words) Read(r *wire.Reader, v *[]string) {
	for range r.ArrayLen() {
		*v = append(*v, r.Str())
	}
}

func (words) Equal(a, b *[]string) bool { return cmp.Equal(*a, *b) }

func TestEveryTruncatedPrefixIsAnError(t *testing.T) {
	source := newLive(cell.Options{Record: true})
	full := func(u *ref.EverythingUpdate) {
		u.Log.Append("a", "b")
		u.Messages.Upsert(ref.Message{ID: "1", Calls: []ref.ToolCall{{Args: []byte("xyz")}}})
		u.Facts.Put("k", ref.Fact{Score: 1})
		u.Sum.Add(1 << 40)
		u.Plan.Reduce(ref.PlanEdit{Goal: "g", Step: "s"})
	}
	merged(t, source, full)
	d, err := source.AppendDelta(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range s {
		if err := newLive(cell.Options{}).Decode(s[:n]); err == nil {
			t.Errorf("the first %d of a snapshot's %d bytes: no error", n, len(s))
		}
		if _, err := delta.Fold(s[:n], d); err == nil {
			t.Errorf("folding the first %d of a snapshot's %d bytes: no error", n, len(s))
		}
	}
	for n := range d {
		if err := newLive(cell.Options{}).Apply(d[:n]); err == nil {
			t.Errorf("the first %d of a delta's %d bytes: no error", n, len(d))
		}
		if _, err := delta.Fold(s, d[:n]); err == nil {
			t.Errorf("folding the first %d of a delta's %d bytes: no error", n, len(d))
		}
		if _, err := delta.Concat(d, d[:n]); err == nil {
			t.Errorf("joining the first %d of a delta's %d bytes: no error", n, len(d))
		}
	}
	var u ref.EverythingUpdate
	full(&u)
	b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if err := ref.EverythingSchema.DecodeUpdate(b[:n], &u); err == nil {
			t.Errorf("the first %d of an update's %d bytes: no error", n, len(b))
		}
	}
	for name, decode := range map[string]func([]byte) error{
		"snapshot": newLive(cell.Options{}).Decode,
		"update":   func(b []byte) error { return ref.EverythingSchema.DecodeUpdate(b, &u) },
	} {
		if err := decode([]byte{0x80, 0x80}); err == nil {
			t.Errorf("%s with more behind it: no error", name)
		}
	}
}

func TestRestoredStringsShareThePayload(t *testing.T) {
	s := pack(t, object{"Log": array{"abc"}})
	d := change(t, "Log", delta.Append, array{"def"})
	l := decoded(t, cell.Options{}, s, d)
	for i, payload := range [][]byte{s, d} {
		got := unsafe.StringData(l.View().Log[i])
		if at := bytes.Index(payload, []byte(l.View().Log[i])); got != &payload[at] {
			t.Errorf("string %d: got a copy, want the memory of the payload", i)
		}
	}
}

func TestAFieldUnderTwoOfItsNamesIsRefused(t *testing.T) {
	docs := array{object{"Title": "t", "Pages": nil}}
	check := func(what string, err error) {
		t.Helper()
		var renamed *state.RenameError
		var dec *state.DecodeError
		var at *wire.Error
		if !errors.As(err, &renamed) || renamed.Field != "Docs" || !renamed.Both || !errors.As(err, &dec) || dec.Field != "Docs" || !errors.As(err, &at) || at.Malformed() {
			t.Errorf("%s: got %v, want a *RenameError of Docs, both names", what, err)
		}
	}
	check("in a snapshot", newLive(cell.Options{}).Decode(pack(t, object{"docs": docs, "old_docs": docs})))
	check("under two old names", newLive(cell.Options{}).Decode(pack(t, object{"papers": docs, "old_docs": array{}})))
	for _, names := range [][2]string{{"docs", "old_docs"}, {"old_docs", "docs"}, {"old_docs", "papers"}} {
		l := decoded(t, cell.Options{}, pack(t, object{names[0]: docs}))
		check("in a delta", l.Apply(change(t, names[1], delta.Append, docs)))
	}
	l := decoded(t, cell.Options{}, pack(t, object{"old_docs": docs}), change(t, "old_docs", delta.Clear, nil), change(t, "docs", delta.Append, docs))
	if got := len(l.View().Docs); got != 1 {
		t.Errorf("after the old name was cleared: got %d docs, want 1", got)
	}
	var at *wire.Error
	for _, bad := range []any{5, array{}, nil} {
		if err := newLive(cell.Options{}).Decode(pack(t, object{"was,docs": bad})); !errors.As(err, &at) || !at.Malformed() {
			t.Errorf("a mark that is %v: got %v, want damage", bad, err)
		}
	}
	err := newLive(cell.Options{}).Decode(pack(t, object{"was,docs": "essays"}))
	var renamed *state.RenameError
	if !errors.As(err, &renamed) || *renamed != (state.RenameError{Field: "Docs", Was: "docs", Now: "essays"}) {
		t.Errorf("a newer name: got %v, want a *RenameError that names it", err)
	}
	l = decoded(t, cell.Options{}, pack(t, object{"was,memos": "essays", "was,docs": "papers"}))
	if diff := cmp.Diff(object{"was,memos": "essays"}, snapshotOf(t, l)); diff != "" {
		t.Errorf("marks that say nothing to the code (-want +got):\n%s", diff)
	}
}

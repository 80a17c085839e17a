package bench

import (
	"bytes"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/bench/hand"
	"github.com/graphgen-go/graphgen/bench/peer"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// live returns a run's state that holds the reference state, and a snapshot of it.
func live(tb testing.TB) (cell.Live[reference.State, reference.StateUpdate], []byte) {
	tb.Helper()
	l := reference.StateSchema.New(cell.Options{})
	l.Load(Reference())
	b, err := l.AppendSnapshot(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return l, b
}

// peerState is the reference state as tinylib/msgp's type.
func peerState(tb testing.TB) peer.State {
	tb.Helper()
	_, b := live(tb)
	var p peer.State
	if rest, err := p.UnmarshalMsg(b); err != nil || len(rest) > 0 {
		tb.Fatalf("msgp: %v, %d bytes left", err, len(rest))
	}
	return p
}

// byReflection encodes the reference state with vmihailenco/msgpack.
func byReflection(buf *bytes.Buffer, s *reference.State) error {
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	e.Reset(buf)
	e.SetSortMapKeys(true)
	e.UseCompactInts(true)
	return e.Encode(s)
}

func TestTheFloorWritesAndReadsTheSame(t *testing.T) {
	_, want := live(t)
	s := Reference()
	got := hand.Append(nil, &s)
	if !bytes.Equal(got, want) {
		t.Fatalf("by hand:\n%q\ngenerated:\n%q", got, want)
	}
	if len(want) < 14_000 || len(want) > 17_000 {
		t.Errorf("the reference state takes %d bytes, want about 15 kB", len(want))
	}
	var back reference.State
	if err := hand.Decode(want, &back); err != nil || len(reference.StateSchema.Diff(s, back)) != 0 {
		t.Errorf("read by hand: %v; it differs in %q", err, state.FieldNames(reference.StateSchema.Diff(s, back)))
	}
	if c := hand.Clone(&s); len(reference.StateSchema.Diff(s, c)) != 0 {
		t.Errorf("cloned by hand it differs in %q", state.FieldNames(reference.StateSchema.Diff(s, c)))
	}
}

func TestThePeersReadTheSame(t *testing.T) {
	p := peerState(t)
	b, err := p.MarshalMsg(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := reference.StateSchema.New(cell.Options{})
	if err := l.Decode(b); err != nil || len(reference.StateSchema.Diff(Reference(), l.View())) != 0 {
		t.Errorf("msgp: %v; it differs in %q", err, state.FieldNames(reference.StateSchema.Diff(Reference(), l.View())))
	}
	var buf bytes.Buffer
	s := Reference()
	if err := byReflection(&buf, &s); err != nil {
		t.Fatal(err)
	}
	var back reference.State
	if err := msgpack.Unmarshal(buf.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Messages) != 50 || back.Plan.Next == nil {
		t.Errorf("vmihailenco read %d messages back", len(back.Messages))
	}
}

func BenchmarkEncode(b *testing.B) {
	s := Reference()
	l, snapshot := live(b)
	buf := make([]byte, 0, 2*len(snapshot))
	b.Run("baseline hand-written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = hand.Append(buf[:0], &s)
		}
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = l.AppendSnapshot(buf[:0])
		}
	})
	p := peerState(b)
	b.Run("tinylib msgp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = p.MarshalMsg(buf[:0])
		}
	})
	w := bytes.NewBuffer(buf)
	b.Run("vmihailenco msgpack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Reset()
			if err := byReflection(w, &s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	_, snapshot := live(b)
	b.Run("baseline hand-written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s reference.State
			if err := hand.Decode(snapshot, &s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l := reference.StateSchema.New(cell.Options{})
			if err := l.Decode(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tinylib msgp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s peer.State
			if _, err := s.UnmarshalMsg(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("vmihailenco msgpack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s reference.State
			if err := msgpack.Unmarshal(snapshot, &s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkClone(b *testing.B) {
	s := Reference()
	var c reference.State
	b.Run("baseline hand-written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c = hand.Clone(&s)
		}
	})
	b.Run("graphgen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c = reference.StateSchema.Clone(s)
		}
	})
	_ = c
}

package codec_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// random returns a record that has a field, or what the record before it has there, or nothing.
func random(rng *rand.Rand, before *checkpoint.Record) checkpoint.Record {
	some := func() bool { return rng.IntN(2) == 0 }
	text := func() string {
		b := make([]byte, rng.IntN(5))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	id := func(like checkpoint.ID) checkpoint.ID {
		switch rng.IntN(3) {
		case 0:
			return like
		case 1:
			return checkpoint.ID{}
		}
		var id checkpoint.ID
		for i := range id {
			id[i] = byte(rng.Uint32())
		}
		return id
	}
	list := func() (all []string) {
		for range rng.IntN(3) {
			all = append(all, text())
		}
		return all
	}
	r := checkpoint.Record{
		Source: checkpoint.Source(1 + rng.IntN(5)), Snapshot: some(), Seq: before.Seq + rng.Uint64N(3), Step: rng.IntN(1 << 30),
		Ran: list(), PendingRoutes: list(), ClearedStops: list(), Request: text(), Fingerprint: before.Fingerprint, Graph: before.Graph,
		Created: time.UnixMicro(rng.Int64N(1 << 52)).UTC(), Payload: []byte(text()),
	}
	r.ID = id(before.ID)
	r.Parent, r.Base, r.Line, r.Commits = id(before.ID), id(before.Base), id(before.Line), id(before.Base)
	if some() {
		r.Base, r.Step, r.Fingerprint, r.Graph = r.ID, before.Step+1, rng.Uint64(), text()
	}
	for range rng.IntN(3) {
		task := checkpoint.Task{Node: text(), Index: rng.Uint32()}
		if some() {
			task.Payload = []byte(text())
		}
		r.Due = append(r.Due, task)
		r.Joins = append(r.Joins, checkpoint.Join{To: text(), Fired: list()})
	}
	if some() {
		r.Meta = map[string]string{text(): text(), text(): text()}
	}
	return r
}

// encode returns the header and the body of a record.
func encode(r, before *checkpoint.Record) (header, body []byte) {
	return codec.AppendHeader(nil, r, before), codec.AppendBody(nil, r)
}

func decode(header, body []byte, before *checkpoint.Record) (checkpoint.Record, error) {
	h := codec.NewReader(header)
	r := h.Header(before)
	if err := h.End(); err != nil {
		return r, err
	}
	b := codec.NewReader(body)
	b.Body(&r)
	return r, b.End()
}

// wantPayload fails unless the payload of a body alone is want, or an error if that is not nil.
func wantPayload(tb testing.TB, body, want []byte, err error) {
	tb.Helper()
	r := codec.NewReader(body)
	got := r.Payload()
	if alone := r.End(); (alone == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got, want) {
		tb.Fatalf("the payload of %x alone: got %x, %v; want %x, %v", body, got, alone, want, err)
	}
}

func TestRecordsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var before checkpoint.Record
	prior := (*checkpoint.Record)(nil)
	for i := range 20_000 {
		want := ledger.Normal(random(rng, &before))
		want.Due = random(rng, &before).Due
		header, body := encode(&want, prior)
		got, err := decode(header, body, prior)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("record %d: got\n%+v\nwant\n%+v", i, got, want)
		}
		wantPayload(t, body, want.Payload, nil)
		before, prior = want, &before
	}
}

func TestTruncatedRecordsAreErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		r := random(rng, new(checkpoint.Record))
		r.Payload = nil // takes whatever is left
		header, body := encode(&r, nil)
		for cut := range header {
			if _, err := decode(header[:cut], body, nil); err == nil {
				t.Fatalf("header %x cut at %d: got no error", header, cut)
			}
		}
		for cut := range body {
			_, err := decode(header, body[:cut], nil)
			if err == nil {
				t.Fatalf("body %x cut at %d: got no error", body, cut)
			}
			wantPayload(t, body[:cut], nil, err)
		}
	}
}

func TestHeaderOfAStepIsSmall(t *testing.T) {
	before := checkpoint.Record{
		ID: checkpoint.ID{1}, Base: checkpoint.ID{1}, Line: checkpoint.ID{2}, Seq: 9, Step: 8, Fingerprint: 3, Graph: "graph",
		Source: checkpoint.Loop, Created: time.Unix(1e9, 0),
	}
	r := checkpoint.Record{
		ID: checkpoint.ID{3}, Parent: before.ID, Base: checkpoint.ID{3}, Line: before.Line, Commits: before.Base, Seq: 10, Step: 9,
		Fingerprint: 3, Graph: "graph", Source: checkpoint.Loop, Created: time.Unix(1e9, 5e6), Due: []checkpoint.Task{{Node: "n"}},
	}
	header, body := encode(&r, &before)
	if len(header) > 20 || len(body) > 6 {
		t.Errorf("a step's header has %d bytes and its body without a payload %d, want at most 20 and 6", len(header), len(body))
	}
}

func TestWritesComeBack(t *testing.T) {
	writes := []checkpoint.Write{
		{Base: checkpoint.ID{1}, Task: "a", Kind: checkpoint.Result, Payload: []byte("p")},
		{Base: checkpoint.ID{1}, Task: "a", Kind: checkpoint.Question, Name: "n", Payload: []byte{}},
		{Namespace: "c\x00", Base: checkpoint.ID{1}, Task: "\xff", Kind: checkpoint.Discard},
		{Namespace: "c\x00", Base: checkpoint.ID{2}, Task: "b", Kind: checkpoint.Failure},
	}
	var b []byte
	var before *checkpoint.Write
	for i := range writes {
		b = codec.AppendWrite(b, &writes[i], before)
		before = &writes[i]
	}
	r := codec.NewReader(b)
	before = nil
	for i, want := range writes {
		got := r.Write(before)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("write %d: got %+v, want %+v", i, got, want)
		}
		before = &got
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

// Any bytes are a record or an error; what is read is written as the same record.
func FuzzRecord(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	var before checkpoint.Record
	for range 20 {
		r := random(rng, &before)
		header, body := encode(&r, &before)
		f.Add(header, body)
		before = r
	}
	f.Fuzz(func(t *testing.T, header, body []byte) {
		var whole checkpoint.Record
		b := codec.NewReader(body)
		b.Body(&whole)
		wantPayload(t, body, whole.Payload, b.End())
		for _, prior := range []*checkpoint.Record{nil, &before} {
			r, err := decode(header, body, prior)
			if err != nil {
				continue
			}
			h, b := encode(&r, prior)
			again, err := decode(h, b, prior)
			if err != nil || !reflect.DeepEqual(ledger.Normal(again), ledger.Normal(r)) {
				t.Fatalf("read, written and read again: got %+v, %v; want %+v", again, err, r)
			}
		}
	})
}

func FuzzWrite(f *testing.F) {
	w := checkpoint.Write{Namespace: "n", Base: checkpoint.ID{1}, Task: "t", Kind: checkpoint.Answer, Name: "q", Payload: []byte("p")}
	f.Add(codec.AppendWrite(nil, &w, nil))
	f.Add(codec.AppendWrite(nil, &w, &w))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, before := range []*checkpoint.Write{nil, &w} {
			r := codec.NewReader(b)
			got := r.Write(before)
			if r.End() != nil {
				continue
			}
			again := codec.NewReader(codec.AppendWrite(nil, &got, before))
			if back := again.Write(before); again.End() != nil || back.Task != got.Task || !bytes.Equal(back.Payload, got.Payload) || back.Base != got.Base {
				t.Fatalf("got %+v, want %+v", back, got)
			}
		}
	})
}

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// rewriting is a saver whose stored bytes are others than were stored.
type rewriting struct {
	checkpoint.Saver
	spot    string
	payload []byte
	met     int
	asked   []byte // the question, as rewritten
}

func (s *rewriting) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	c.Deltas, c.Due, c.Writes = slices.Clone(c.Deltas), slices.Clone(c.Due), s.writes(c.Writes)
	c.Thread.Questions = s.writes(c.Thread.Questions)
	if s.spot == "snapshot" && !c.Empty() {
		s.rewrite(&c.Snapshot)
	}
	for i := range c.Deltas {
		if s.spot == "delta" {
			s.rewrite(&c.Deltas[i])
		}
	}
	for i := range c.Due {
		if s.spot == "send" && c.Due[i].Payload != nil {
			s.rewrite(&c.Due[i].Payload)
		}
	}
	return c, err
}

func (s *rewriting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	done, err := s.Saver.Append(ctx, a)
	done.Writes = s.writes(done.Writes)
	return done, err
}

func (s *rewriting) writes(writes []checkpoint.Write) []checkpoint.Write {
	writes = slices.Clone(writes)
	for i := range writes {
		w := &writes[i]
		routed := w.Kind == checkpoint.Result && len(w.Payload) > 0 && w.Payload[0]&0xf0 == 0x90
		switch {
		case s.spot == "result" && w.Kind == checkpoint.Result && !routed, s.spot == "choice" && routed,
			s.spot == "question" && w.Kind == checkpoint.Question, s.spot == "answer" && w.Kind == checkpoint.Answer:
			s.rewrite(&w.Payload)
			if s.spot == "question" {
				s.asked = w.Payload
			}
		case s.spot == "what is asked" && w.Kind == checkpoint.Question:
			b := wire.AppendString(wire.AppendArrayLen(nil, 5), "")
			b[1] = 0x90 // no path
			b = wire.AppendString(wire.AppendInt(wire.AppendString(b, "ask"), 0), "refund")
			w.Payload = wire.AppendBytes(b, s.payload)
			s.asked = w.Payload
			s.met++
		case s.spot == "routed update" && routed:
			w.Payload = wire.AppendBytes([]byte{0x92}, s.payload)
			w.Payload = append(w.Payload, "\x92\xa1x\xc0"...)
			s.met++
		case s.spot == "sent by a choice" && routed:
			w.Payload = wire.AppendBytes([]byte("\x92\xc4\x01\x80\x92\xa5fetch"), s.payload)
			s.met++
		}
	}
	return writes
}

func (s *rewriting) rewrite(payload *[]byte) {
	*payload = s.payload
	s.met++
}

// halfDone is a graph with a superstep that does not end. It stores data of every kind: results of
// a node and of a routing node, sends, a question and its answer.
func halfDone(tb testing.TB, s checkpoint.Saver) *app {
	tb.Helper()
	b := newWork()
	fetch := graph.TaskNode(b, "fetch", func(_ context.Context, _ work, d doc) (update, error) {
		return logged(d.Name), nil
	})
	b.Node("a", say("a"))
	b.Node("x", say("x"))
	b.RoutingNode("route", func(context.Context, work) (update, graph.Next, error) {
		return logged("route"), graph.To("x"), nil
	}, graph.Targets("x", "fetch"))
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		if _, err := refund.Ask(ctx, doc{Name: "shoes"}); err != nil {
			return update{}, err
		}
		return update{}, errBroken
	}, refund)
	b.Node("first", say("first"))
	b.Edge(graph.Start, "first")
	b.Route("first", func(context.Context, work) (graph.Next, error) {
		next := graph.To("a", "route", "ask")
		next.Add(fetch.Send(doc{Name: "good"}))
		return next, nil
	}, "a", "route", "ask", "fetch")
	for _, id := range []graph.ID{"fetch", "a", "x", "ask"} {
		b.Edge(id, graph.End)
	}
	return compile(tb, b, graph.Saver(s))
}

// leaveHalfDone runs the graph of halfDone up to the middle of a superstep.
func leaveHalfDone(tb testing.TB, s checkpoint.Saver) {
	tb.Helper()
	th := halfDone(tb, s).Thread("t")
	res := done(tb, graph.Waiting)(th.Invoke(tb.Context(), input))
	if _, err := th.Resume(tb.Context(), refund.Answer(res.Questions[0], true)); !errors.Is(err, errBroken) {
		tb.Fatalf("got %v, want errBroken", err)
	}
}

// classes returns which of the two classes of stored bytes that cannot be read err is of.
func classes(err error) (all []string) {
	if errors.Is(err, checkpoint.ErrDamaged) {
		all = append(all, "damaged")
	}
	if errors.Is(err, graph.ErrGraphChanged) {
		all = append(all, "changed")
	}
	return all
}

// spots are the kinds of stored bytes.
var spots = []string{
	"snapshot", "delta", "result", "choice", "routed update", "sent by a choice", "send", "question", "what is asked", "answer",
}

// readHostile reads, in every way, a thread whose bytes at spot are payload, and returns the
// errors that have a class.
func readHostile(tb testing.TB, spot string, payload []byte) (met int, errs []error) {
	tb.Helper()
	mem := memory.New()
	leaveHalfDone(tb, mem)
	s := &rewriting{Saver: mem, spot: spot, payload: payload}
	g := halfDone(tb, s)
	th := g.Thread("t")
	snap, err := th.State(tb.Context())
	errs = append(errs, err)
	for _, w := range snap.Questions {
		_, err := refund.Decode(w)
		errs = append(errs, err)
	}
	errs = append(errs, s.readAsked())
	for _, err := range th.History(tb.Context(), checkpoint.Query{}) {
		errs = append(errs, err)
	}
	_, err = th.Resume(tb.Context())
	errs = append(errs, err)
	asked := s.readAsked()
	return s.met, slices.DeleteFunc(errs, func(err error) bool {
		plain := errors.Is(err, errBroken) || asked == nil && errors.Is(err, graph.ErrNotAskable)
		return err == nil || plain && len(classes(err)) == 0
	})
}

// readAsked reads the question that was rewritten, if one was.
func (s *rewriting) readAsked() error {
	if s.asked == nil {
		return nil
	}
	waiting, err := graph.OpenQuestions(checkpoint.Thread{Questions: []checkpoint.Write{{Kind: checkpoint.Question, Task: "k", Payload: s.asked}}})
	if err != nil {
		return err
	}
	if _, err := refund.Decode(waiting[0]); !errors.Is(err, graph.ErrNotAsked) {
		return err
	}
	return nil // another question
}

func TestStoredBytesThatCannotBeReadHaveOneClass(t *testing.T) {
	malformed := map[string][]byte{
		"nothing": {}, "text": []byte("garbage"), "a byte that nothing starts with": {0xc1}, "a map cut short": {0x81}, "a length that lies": []byte("\xdd\xff\xff\xff\xff"),
		"two values": {0x80, 0x80}, "a string cut short": []byte("\x81\xa3Log\x92\x01\x91\xa5ab"), "an array of what nothing starts with": {0x92, 0xc1, 0xc1},
		"zeros": make([]byte, 9), "a map in which nothing is a key": {0x81, 0xc1, 0x01},
	}
	other := map[string][]byte{
		"a number": {5}, "a string": []byte("\xa3abc"), "nil": {0xc0}, "a bool": {0xc3}, "a time": []byte("\xd6\xff\x00\x00\x00\x01"), "a list of lists": {0x91, 0x91, 0x90},
		"a map by numbers": {0x81, 0x01, 0x02}, "a field of another type": []byte("\x81\xa3Log\xa1x"), "an operation of another type": []byte("\x81\xa3Log\x92\x02\x05"),
		"no such operation": []byte("\x81\xa3Log\x92\x63\x05"), "an operation on what is not there": []byte("\x92\x00\x81\xa3Log\x92\x04\x92\x05\xa1x"),
		"a delta of another type": []byte("\x92\x00\x81\xa3Log\x92\x01\x91\x05"), "a document with more": []byte("\x82\xa4Name\xa1x\xa4Mood\x01"),
		"a delta of an old operation": []byte("\x92\x00\x81\xa3Log\x92\x63\x05"),
	}
	check := func(t *testing.T, spot, name string, payload []byte, malformed bool) {
		t.Helper()
		met, errs := readHostile(t, spot, payload)
		if met == 0 {
			t.Fatalf("%s: nothing was rewritten", spot)
		}
		if malformed && len(errs) == 0 {
			t.Errorf("%s: %s: nothing says that it is damaged", spot, name)
		}
		for _, err := range errs {
			got := classes(err)
			if len(got) != 1 || malformed && got[0] != "damaged" {
				t.Errorf("%s: %s: got class %v of: %v", spot, name, got, err)
			}
		}
	}
	for _, spot := range spots {
		t.Run(spot, func(t *testing.T) {
			for name, payload := range malformed {
				check(t, spot, name, payload, true)
			}
			for name, payload := range other {
				check(t, spot, name, payload, false)
			}
		})
	}
}

func TestAStoredValueOfAnotherTypeHasChanged(t *testing.T) {
	for spot, payload := range map[string]string{
		"snapshot": "\x81\xa3Log\xa1x", "delta": "\x92\x00\x81\xa3Log\x92\x01\x91\x05", "result": "\x81\xa3Log\x92\x02\x05", "routed update": "\x81\xa3Log\x92\x02\x05",
		"send": "\x81\xa4Name\x05", "sent by a choice": "\x81\xa4Name\x05", "what is asked": "\xa1x", "answer": "\xa1x",
	} {
		_, errs := readHostile(t, spot, []byte(payload))
		if len(errs) == 0 {
			t.Errorf("%s: got no error", spot)
		}
		for _, err := range errs {
			if got := strings.Join(classes(err), " "); got != "changed" {
				t.Errorf("%s: got class %q of: %v", spot, got, err)
			}
		}
	}
}

func FuzzStoredBytesHaveOneClass(f *testing.F) {
	for i := range spots {
		f.Add(byte(i), []byte("\x81\xa3Log\x92\x02\x91\xa1x"))
		f.Add(byte(i), []byte("\x92\x00\x81\xa3Log\x92\x01\x91\xa1x"))
		f.Add(byte(i), []byte("\x82\xa4Name\xa1x\xa5Pages\x91\x05"))
	}
	f.Fuzz(func(t *testing.T, spot byte, payload []byte) {
		_, errs := readHostile(t, spots[int(spot)%len(spots)], payload)
		for _, err := range errs {
			if got := classes(err); len(got) != 1 {
				t.Errorf("got class %v of: %v", fmt.Sprint(got), err)
			}
		}
	})
}

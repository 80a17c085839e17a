package operate

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape/value"
)

// checker checks the exported items of one version. It keeps the ids of the version, and the
// payloads of one chain.
type checker struct {
	o      *Operator
	known  Schemas
	report func(p *Problem)

	namespace string
	last      *checkpoint.Record // of the namespace
	snapshot  []byte
	deltas    [][]byte
	lost      bool  // the chain has no snapshot
	locked    error // payloads are encrypted; nil if none is

	ids     map[checkpoint.ID]bool
	heads   map[string]checkpoint.ID // by namespace
	records int                      // of the root
	message uint64
}

func newChecker(o *Operator, known Schemas, report func(p *Problem)) *checker {
	return &checker{o: o, known: known, report: report, ids: make(map[checkpoint.ID]bool), heads: make(map[string]checkpoint.ID)}
}

func (c *checker) fault(namespace string, r *checkpoint.Record, format string, args ...any) {
	p := Problem{Namespace: namespace, Problem: fmt.Sprintf(format, args...)}
	if r != nil {
		p.Record, p.Seq = r.ID.String(), r.Seq
	}
	c.report(&p)
}

func (c *checker) item(item *checkpoint.ExportItem) {
	switch {
	case item.Record != nil:
		c.record(item.Record)
	case item.Write != nil:
		c.chain()
		c.write(item.Write)
	case item.Message != nil:
		c.chain()
		m := item.Message
		if m.Number <= c.message {
			c.fault("", nil, "message %d follows message %d", m.Number, c.message)
		}
		c.message = m.Number
	}
}

// record checks one record, and notes its payload for the check of its chain.
func (c *checker) record(n *checkpoint.NamespaceRecord) {
	r := &n.Record
	if n.Namespace != c.namespace || c.last == nil {
		c.chain()
		if _, twice := c.heads[n.Namespace]; twice {
			c.fault(n.Namespace, r, "the records of the namespace are not together")
		}
		c.namespace, c.last = n.Namespace, nil
	}
	if n.Namespace == "" {
		c.records++
	}
	if c.ids[r.ID] {
		c.fault(n.Namespace, r, "another record has the id %s, too", r.ID)
	}
	switch {
	case r.Snapshot:
		c.chain()
		c.snapshot, c.lost = r.Payload, false
	case c.last == nil:
		c.fault(n.Namespace, r, "the oldest record has no snapshot")
		c.lost = true
	default:
		c.deltas = append(c.deltas, r.Payload)
	}
	if c.last != nil && r.Seq <= c.last.Seq {
		c.fault(n.Namespace, r, "number %d follows number %d", r.Seq, c.last.Seq)
	}
	if c.last != nil && !r.Snapshot && r.Parent != c.last.ID {
		c.fault(n.Namespace, r, "a delta, whose parent %s is not the record before it", r.Parent)
	}
	c.ids[r.ID], c.heads[n.Namespace], c.last = true, r.ID, r
}

// chain checks that the deltas since the newest snapshot apply to it, and that the state at the
// end can be read.
func (c *checker) chain() {
	if c.last == nil || c.snapshot == nil && len(c.deltas) == 0 || c.lost {
		c.snapshot, c.deltas = nil, nil
		return
	}
	if err := c.o.Locked(c.snapshot); err != nil {
		c.locked = err
		c.snapshot, c.deltas = nil, nil
		return
	}
	state, err := checkpoint.Fold(c.snapshot, c.deltas...)
	if err == nil {
		_, err = value.State(c.known.State(c.last.Fingerprint), state)
	}
	if err != nil {
		c.fault(c.namespace, c.last, "the state cannot be read: %v", err)
	}
	c.snapshot, c.deltas = nil, nil
}

// write checks a pending write. Its base can be missing, because Prune removes records.
func (c *checker) write(w *checkpoint.Write) {
	if err := w.Check(); err != nil {
		c.fault(w.Namespace, nil, "a pending %s: %v", w.Kind, err)
		return
	}
	if err := c.o.Locked(w.Payload); err != nil {
		c.locked = err
		return
	}
	if w.Kind == checkpoint.Question {
		if _, err := graph.OpenQuestions(checkpoint.Thread{Questions: []checkpoint.Write{*w}}); err != nil {
			c.fault(w.Namespace, nil, "%v", err)
		}
	}
}

// end checks the last chain. Call it after the last item.
func (c *checker) end() { c.chain() }

// agrees reports whether the listing of a version has the head and the number of the records.
func (c *checker) agrees(v *checkpoint.Version) bool {
	return v.Number == 0 || c.heads[""] == v.Head && c.records == v.Records
}

// disagrees reports the differences between the listing of a version and its records.
func (c *checker) disagrees(v *checkpoint.Version) {
	if head := c.heads[""]; head != v.Head {
		c.fault("", nil, "the head is %s, but the newest record is %s", v.Head, head)
	}
	if c.records != v.Records {
		c.fault("", nil, "the version has %d records, but %d are listed", c.records, v.Records)
	}
}

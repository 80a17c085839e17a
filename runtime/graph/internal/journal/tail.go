package journal

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Tail takes note of the records that a run has stored of its own, with a copy of their payloads.
// They lead from the state that the run was opened on to the state that it left. Only the
// goroutine of the run may use it, after the write that ended the run.
type Tail struct {
	Most int               // how many bytes of payloads to copy; beyond that Tail has none of them
	Last checkpoint.Record // the record that ended the run, without its payload
	Done bool              // the run ended as Done

	records  int    // since the last snapshot, which counts
	whole    bool   // there was a snapshot; it is the first payload
	payloads []byte // one after another
	ends     []int  // of each payload
	over     bool   // they would have been more than Most
}

// add takes note of an entry that was acknowledged. A snapshot takes the place of what came
// before.
func (t *Tail) add(e *Entry) {
	if t == nil || e.Namespace != "" {
		return
	}
	for i := range e.Records {
		rec := &e.Records[i]
		if t.records++; rec.Snapshot {
			t.records, t.whole, t.payloads, t.ends = 1, true, t.payloads[:0], t.ends[:0]
		}
		if t.over = t.over || len(t.payloads)+len(rec.Payload) > t.Most; !t.over {
			if t.ends == nil { // enough for a short run
				t.payloads, t.ends = make([]byte, 0, 512), make([]int, 0, 8)
			}
			t.payloads = append(t.payloads, rec.Payload...)
			t.ends = append(t.ends, len(t.payloads))
		}
	}
	if e.End {
		t.Last = e.Records[len(e.Records)-1]
		t.Last.Payload = nil
		t.Done = e.Status == checkpoint.Done
	}
}

// Complete reports whether all payloads are there that lead to the state.
func (t *Tail) Complete() bool { return !t.over }

// Whole reports whether they lead there from an empty state.
func (t *Tail) Whole() bool { return t.whole }

// Chained returns how many records the chain of the newest record has since its snapshot. before
// is how many there were when the run was opened.
func (t *Tail) Chained(before int) int {
	if t.whole {
		return t.records - 1
	}
	return before + t.records
}

// Forget drops the payloads: the state that they lead to has been made.
func (t *Tail) Forget() { t.payloads, t.ends, t.whole = nil, nil, false }

// Size returns how many bytes of memory the payloads take.
func (t *Tail) Size() int { return cap(t.payloads) + 8*cap(t.ends) }

// Fold calls decode with the snapshot, if there is one, and apply with each of the deltas.
// Nothing writes to the payloads any more.
func (t *Tail) Fold(decode, apply func(payload []byte) error) error {
	from := 0
	for i, to := range t.ends {
		read := apply
		if t.whole && i == 0 {
			read = decode
		}
		if err := read(t.payloads[from:to:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

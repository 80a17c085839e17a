package rows

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// readable adds the state of the version to the change, if the Saver keeps readable states. It is
// the state at the head of the root, after which the change adds records.
func (w *writer) readable(ctx context.Context, root head, added []checkpoint.Record) error {
	if !w.s.options.Readable {
		return nil
	}
	var c checkpoint.Chain
	if !root.id.IsZero() && (len(added) == 0 || !added[0].Snapshot) {
		l := loader{s: w.s, p: checkpoint.Ref{Thread: w.next.ID, At: root.id}, t: w.t, log: logOf(w.next.ID, w.next.Root, ""), page: chainPage}
		rows, _, err := w.s.read(ctx, l.log.upTo(root.id, chainPage))
		if err == nil {
			_, err = l.restore(ctx, &c, rows[0])
		}
		if err != nil {
			return err
		}
	}
	for i := range added {
		if added[i].Snapshot {
			c.Snapshot, c.Deltas = added[i].Payload, nil
		} else {
			c.Deltas = append(c.Deltas, added[i].Payload)
		}
	}
	text, err := w.s.stateJSON(c.Snapshot, c.Deltas)
	if err != nil {
		return err
	}
	w.c.Puts = append(w.c.Puts, Put{
		Key: Key{States, w.next.ID, w.next.Root[:]}, Value: text, Columns: &Columns{Version: w.next.Open, Seq: root.seq + uint64(len(added))},
	})
	return nil
}

// opensReadable returns an error if the first record of a thread has a snapshot that cannot be
// readable. It is found out before the run does anything.
func (s *Saver) opensReadable(a *checkpoint.Append) error {
	if !s.options.Readable || a.Open == nil || !a.Records[0].Snapshot {
		return nil
	}
	_, err := s.stateJSON(a.Records[0].Payload, nil)
	return s.wrap(err)
}

// stateJSON returns the JSON of the state that stored payloads restore.
func (s *Saver) stateJSON(snapshot []byte, deltas [][]byte) (text []byte, err error) {
	plain := append([][]byte{snapshot}, deltas...)
	if s.options.Decode != nil {
		for i := range plain {
			if plain[i], err = s.options.Decode(plain[i]); err != nil {
				return nil, fmt.Errorf("readable state: %w", err)
			}
		}
	}
	state, err := checkpoint.Fold(plain[0], plain[1:]...)
	if err != nil {
		return nil, fmt.Errorf("readable state: %w", err)
	}
	if text, err = appendJSON(nil, state); err != nil {
		return nil, fmt.Errorf("readable state: payloads must not be encrypted; for compressed ones pass compress.Decompress: %w", err)
	}
	return text, nil
}

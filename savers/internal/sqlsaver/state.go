package sqlsaver

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// maxStates is how many states a readable saver keeps in memory. A state that is not kept is
// folded from the chain again.
const maxStates = 256

// state is the state at the head of a version's root.
type state struct {
	head     checkpoint.ID
	snapshot []byte
}

// putState stores the readable state at the root's head, the last of records.
func (l *log) putState(ctx context.Context, records []checkpoint.Record) error {
	if !l.s.readable || l.at.log != l.at.root {
		return nil
	}
	snapshot, err := l.snapshot(ctx, records)
	if err != nil {
		return fmt.Errorf("readable state: %w", err)
	}
	text, err := AppendJSON(nil, snapshot)
	if err != nil {
		return fmt.Errorf("readable state: payloads must be plain, neither encrypted nor compressed: %w", err)
	}
	return l.s.later(ctx, l.tx, stPutState, l.at.thread, l.at.version, l.head.seq, string(text))
}

// snapshot returns the state at the head: the state that is kept of the head before, with records
// applied, or the whole chain folded.
func (l *log) snapshot(ctx context.Context, records []checkpoint.Record) (snapshot []byte, err error) {
	first := &records[0]
	var chain checkpoint.Chain
	kept, found := l.s.kept(l.at)
	switch {
	case first.Snapshot:
	case found && kept.head == first.Parent:
		chain.Snapshot = kept.snapshot
	default:
		first, err := l.s.snapshotBefore(ctx, l.tx, l.at, l.head.seq)
		if err != nil {
			return nil, err
		}
		all, _, err := l.s.chain(ctx, l.tx, l.at, first, l.head.seq, l.head.line)
		if err != nil {
			return nil, err
		}
		restore(&chain, all)
		records = nil
	}
	for i := range records {
		if records[i].Snapshot {
			chain.Snapshot, chain.Deltas = records[i].Payload, nil
			continue
		}
		chain.Deltas = append(chain.Deltas, records[i].Payload)
	}
	if snapshot, err = checkpoint.Fold(chain.Snapshot, chain.Deltas...); err != nil {
		return nil, err
	}
	snapshot = append([]byte(nil), snapshot...) // it may be the caller's
	l.s.keep(l.at, state{head: l.head.id, snapshot: snapshot})
	return snapshot, nil
}

func (s *Saver) kept(at spot) (state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, found := s.states[at]
	return kept, found
}

// keep keeps a state for the next commit. If this commit fails, no other record gets the id of the
// state's head.
func (s *Saver) keep(at spot, kept state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.states[at]; !found && len(s.states) >= maxStates {
		for other := range s.states {
			delete(s.states, other)
			break
		}
	}
	s.states[at] = kept
}

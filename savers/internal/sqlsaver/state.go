package sqlsaver

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// maxStates is how many states a readable saver keeps in memory. A state that is not kept is
// folded from the chain again.
const maxStates = 256

// state is the state of a version at a record of its root: a snapshot, and the deltas that follow.
type state struct {
	head     checkpoint.ID
	snapshot []byte
	deltas   [][]byte
}

// add adds records that follow the head.
func (s *state) add(records []checkpoint.Record) {
	for i := range records {
		payload := bytes.Clone(records[i].Payload)
		if records[i].Snapshot {
			s.snapshot, s.deltas = payload, nil
		} else {
			s.deltas = append(s.deltas, payload)
		}
		s.head = records[i].ID
	}
}

// note adds the records of a stored Append to the state that s keeps of a version. So the end of
// the run need not read them. root is the log of the version's root.
func (s *Saver) note(root int64, a *checkpoint.Append) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, found := s.states[root]
	switch {
	case found && kept.head == a.Records[len(a.Records)-1].ID:
	case found && kept.head == a.After || a.Records[0].Snapshot:
		kept.add(a.Records)
		s.keepLocked(root, kept)
	default:
		delete(s.states, root)
	}
}

// plainState returns an error if the first record of a thread has a snapshot that cannot be
// readable. It is found out before the run does anything.
func (s *Saver) plainState(a *checkpoint.Append) error {
	if !s.readable || a.Open == nil || !a.Records[0].Snapshot {
		return nil
	}
	snapshot, err := s.fold(a.Records[0].Payload, nil)
	if err != nil {
		return err
	}
	_, err = readable(snapshot)
	return err
}

// fold returns the state that stored payloads restore.
func (s *Saver) fold(snapshot []byte, deltas [][]byte) (_ []byte, err error) {
	if s.decode == nil {
		return checkpoint.Fold(snapshot, deltas...)
	}
	if snapshot, err = s.decode(snapshot); err != nil {
		return nil, err
	}
	plain := make([][]byte, len(deltas))
	for i := range deltas {
		if plain[i], err = s.decode(deltas[i]); err != nil {
			return nil, err
		}
	}
	return checkpoint.Fold(snapshot, plain...)
}

func readable(snapshot []byte) ([]byte, error) {
	text, err := AppendJSON(nil, snapshot)
	if err != nil {
		return nil, fmt.Errorf("readable state: payloads must not be encrypted; for compressed ones pass compress.Decompress: %w", err)
	}
	return text, nil
}

// putState stores the readable state at the root's head when a run ends. records are the newest,
// those that the Append stores which ends it.
func (l *log) putState(ctx context.Context, after checkpoint.ID, records []checkpoint.Record) error {
	if !l.s.readable || l.at.log != l.at.root || l.head.id.IsZero() {
		return nil
	}
	snapshot, err := l.snapshot(ctx, after, records)
	if err != nil {
		return fmt.Errorf("readable state: %w", err)
	}
	text, err := readable(snapshot)
	if err != nil {
		return err
	}
	return l.s.later(ctx, l.tx, stPutState, l.at.thread, l.at.version, l.head.seq, string(text))
}

// snapshot returns the state at the head: the state that is kept of the head before, with records
// applied, or the whole chain folded.
func (l *log) snapshot(ctx context.Context, after checkpoint.ID, records []checkpoint.Record) (snapshot []byte, err error) {
	now, found := l.s.kept(l.at.root)
	if found && now.head == after || len(records) > 0 && records[0].Snapshot {
		now.deltas = slices.Clip(now.deltas)
		now.add(records)
	} else if !found || now.head != l.head.id {
		first, err := l.s.newestSnapshot(ctx, l.tx, l.at)
		if err != nil {
			return nil, err
		}
		got, err := l.s.parts(ctx, l.tx, &wanted{at: l.at, first: first, last: l.head.seq})
		if err != nil {
			return nil, err
		}
		var chain checkpoint.Chain
		way := stretch{at: l.at, first: first, last: l.head.seq}
		if _, err := way.restore(got, &chain); err != nil {
			return nil, err
		}
		now = state{head: l.head.id, snapshot: chain.Snapshot, deltas: chain.Deltas}
	}
	if snapshot, err = l.s.fold(now.snapshot, now.deltas); err != nil {
		return nil, err
	}
	l.s.keep(l.at.root, state{head: l.head.id, snapshot: snapshot})
	return snapshot, nil
}

func (s *Saver) kept(root int64) (state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, found := s.states[root]
	return kept, found
}

// keep keeps a state for the next end of a run. If this commit fails, no other record gets the id
// of the state's head.
func (s *Saver) keep(root int64, kept state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepLocked(root, kept)
}

func (s *Saver) keepLocked(root int64, kept state) {
	if _, found := s.states[root]; !found && len(s.states) >= maxStates {
		for other := range s.states {
			delete(s.states, other)
			break
		}
	}
	s.states[root] = kept
}

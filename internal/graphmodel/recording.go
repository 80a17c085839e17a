package graphmodel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Saver returns s as a saver whose acknowledgements the world records.
func (w *World) Saver(s checkpoint.Saver) checkpoint.Saver { return &recording{s, w} }

type recording struct {
	checkpoint.Saver
	w *World
}

func (s *recording) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	s.w.discard(a.Writes)
	s.w.learn(a.Namespace, a.Records)
	sure := s.w.offer(a.Records[0].ID, a.Writes)
	done, err := s.Saver.Append(ctx, a)
	if err != nil {
		return done, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for i := range a.Records {
		rec := &a.Records[i]
		o := s.w.records[rec.ID]
		o.stored = true
		s.w.records[rec.ID] = o
		if rec.Source == checkpoint.Resume || rec.Source == checkpoint.Input {
			continue // pending routes have answered (rule 13.9), or a call begins again (rule 18.12)
		}
		for _, key := range s.w.bases[rec.Commits] {
			s.w.ended[key] = append(s.w.ended[key], rec.ID)
		}
	}
	s.w.note(sure)
	return done, nil
}

// offer records the writes that are offered with a record, and returns those that were offered
// with it every time. An Append that is repeated after it happened changes nothing: a write that
// it has in addition is not stored.
func (w *World) offer(record checkpoint.ID, writes []checkpoint.Write) []checkpoint.Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, again := w.offers[record]; again {
		writes = slices.DeleteFunc(slices.Clone(writes), func(x checkpoint.Write) bool {
			return !slices.ContainsFunc(before, func(y checkpoint.Write) bool {
				return x.Task == y.Task && x.Kind == y.Kind && x.Name == y.Name
			})
		})
	}
	w.offers[record] = slices.Clone(writes)
	return w.offers[record]
}

func (s *recording) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := s.Saver.PutWrites(ctx, p)
	if err == nil {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		s.w.note(p.Writes)
	}
	return done, err
}

// learn records which tasks the given records make due. The keys of deferred tasks that have to
// wait are never used.
func (w *World) learn(namespace string, records []checkpoint.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range records {
		r := &records[i]
		if before, ok := w.schemas[r.Parent]; ok && before != r.Fingerprint && !r.Snapshot {
			w.faults = append(w.faults, fmt.Sprintf("a %s record of step %d changes the schema, and is no snapshot",
				r.Source, r.Step))
		}
		w.schemas[r.ID] = r.Fingerprint
		w.records[r.ID] = offered{stored: w.records[r.ID].stored, namespace: namespace}
		for _, t := range r.Due {
			key := taskKey(r.Line, scope(namespace), r.Step+1, t.Node, uint64(t.Index))
			w.bases[r.ID] = append(w.bases[r.ID], key)
			w.calls[within(namespace, callName(key, r.ID))] = r.ID
		}
		for name, resume := range r.Meta {
			if key, ok := strings.CutPrefix(name, "again:"); ok {
				again := checkpoint.ID([]byte(resume))
				w.calls[within(namespace, callName(key, r.Base, again))] = r.Base
			}
		}
	}
}

// callName is the last name in the namespace of a call: it tells apart the calls of a task on each
// base (rule 18.12). again is the resume record whose Rerun began the call again (rule 11.8).
func callName(key string, base checkpoint.ID, again ...checkpoint.ID) string {
	b := base[:]
	for _, id := range again {
		b = append(b[:len(b):len(b)], id[:]...)
	}
	sum := sha256.Sum256(b)
	return key + "-" + hex.EncodeToString(sum[:8])
}

func within(namespace, call string) string { return strings.TrimPrefix(namespace+"/"+call, "/") }

// scope is a namespace reduced to the keys of the tasks in it.
func scope(namespace string) string {
	names := strings.Split(namespace, "/")
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "-")
	}
	return strings.Join(names, "/")
}

// taskKey is the Key of graph.CurrentTask (rule 17.1). If it changes, stored threads run their
// tasks again.
func taskKey(runLine checkpoint.ID, scope string, step int, node string, index uint64) string {
	b := append([]byte(nil), runLine[:]...)
	b = append(binary.AppendUvarint(b, uint64(len(scope))), scope...)
	b = binary.AppendUvarint(b, uint64(step))
	b = append(binary.AppendUvarint(b, uint64(len(node))), node...)
	sum := sha256.Sum256(binary.AppendUvarint(b, index))
	return hex.EncodeToString(sum[:16])
}

// note records results as ended tasks and durable calls. Other results with a name are parts of
// one.
func (w *World) note(writes []checkpoint.Write) {
	for i := range writes {
		key := writes[i].Task
		if name := writes[i].Name; strings.HasPrefix(name, "do:") || strings.HasPrefix(name, "named:") {
			key += "/" + name // rule 20.7
		} else if name != "" {
			continue
		}
		if writes[i].Kind == checkpoint.Result {
			w.ended[key] = append(w.ended[key], writes[i].Base)
		}
	}
}

// discard forgets the results that a Rerun drops (rule 11.8): they may be gone also if the answer
// to the call is lost.
func (w *World) discard(writes []checkpoint.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range writes {
		if writes[i].Kind == checkpoint.Discard {
			delete(w.ended, writes[i].Task)
		}
	}
}

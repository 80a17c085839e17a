package redis

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return checkpoint.Version{}, err
	}
	token, err := checkpoint.NewID()
	if err != nil {
		return checkpoint.Version{}, err
	}
	c := announced{s: s, thread: thread, script: s.script.release, args: []any{ifHead[:], s.ttl, token[:], "", ""}, notice: 3, stamp: 4}
	r, err := s.announce(ctx, "release", &c)
	if err != nil {
		return checkpoint.Version{}, err
	}
	switch outcome := r.text(); outcome {
	case "ok":
	case "absent":
		return checkpoint.Version{}, ledger.NoVersion(thread, 0)
	default:
		return checkpoint.Version{}, s.refused(&checkpoint.Append{Thread: thread, After: ifHead}, outcome, r)
	}
	v := r.version(thread)
	stamp, due := r.id(), r.text() == "1"
	if r.err != nil || due {
		return v, r.err
	}
	s.finished(listed{id: thread, stamp: stamp, gone: true})
	return v, nil
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	if err := checkpoint.CheckThread(thread); err != nil {
		return err
	}
	_, err := s.remove(ctx, thread, time.Time{})
	return err
}

// remove removes a thread, unless it has not ended before a time; zero removes it anyway.
func (s *Saver) remove(ctx context.Context, thread string, ended time.Time) (removed bool, err error) {
	var before any = ""
	if !ended.IsZero() {
		before = micro(ended)
	}
	r, err := s.call(ctx, "delete", s.script.delete, []string{s.key(thread)}, before)
	if err != nil {
		return false, err
	}
	switch r.text() {
	case "busy":
		return false, busy(thread, r)
	case "stays":
		return false, r.err
	}
	stamp, queue := r.id(), r.text()
	if r.err != nil || stamp.IsZero() {
		return false, r.err
	}
	_, _, err = s.unlist(ctx, []listed{{id: thread, stamp: stamp, set: true}, {id: thread, stamp: stamp, gone: true}}, s.wakes(queue))
	return true, err
}

package graphmodel

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ErrFault is the error of a call of the saver that did not happen, or whose answer was lost.
var ErrFault = errors.New("a fault of the saver")

// faulty is a saver with calls that fail.
type faulty struct {
	checkpoint.Saver
	mu    sync.Mutex
	left  int        // calls until the process dies, including the last one; negative for never
	lost  bool       // the last one happens, and its answer is lost
	flaky *rand.Rand // each call may fail
	diary *diary

	hiccup int // calls that fail, including the last one; then no more do. Zero for a process that dies
	struck bool
}

// failed reports whether a call has failed.
func (f *faulty) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.struck
}

func (f *faulty) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

// call makes a call or fails.
func (f *faulty) call(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := f.lost
	switch {
	case f.left == 0:
		f.diary.note("  a call of a dead process")
		return ErrFault
	case f.flaky != nil:
		if n := f.flaky.IntN(100); n >= 20 {
			return do()
		} else {
			lost = n < 10
		}
	default:
		if f.left--; f.left != 0 {
			return do()
		}
		f.struck = true
		if f.hiccup > 0 {
			if f.hiccup--; f.hiccup > 0 {
				f.left = 1
			} else {
				f.left = -1
			}
		}
	}
	if lost {
		_ = do()
		f.diary.note("  and the answer is lost")
	} else {
		f.diary.note("  a call that does not happen")
	}
	return ErrFault
}

func (f *faulty) Append(ctx context.Context, r checkpoint.Append) (a checkpoint.AppendResult, err error) {
	err = f.call(func() error { a, err = f.Saver.Append(ctx, r); return err })
	if err != nil {
		a = checkpoint.AppendResult{}
	}
	return a, err
}

func (f *faulty) PutWrites(ctx context.Context, w checkpoint.PutWrites) (done checkpoint.PutResult, err error) {
	err = f.call(func() error { done, err = f.Saver.PutWrites(ctx, w); return err })
	if err != nil {
		done = checkpoint.PutResult{}
	}
	return done, err
}

func (f *faulty) Load(ctx context.Context, p checkpoint.Ref) (c checkpoint.Chain, err error) {
	err = f.call(func() error { c, err = f.Saver.Load(ctx, p); return err })
	if err != nil {
		c = checkpoint.Chain{}
	}
	return c, err
}

func (f *faulty) Post(ctx context.Context, posts ...checkpoint.Post) (done []checkpoint.Posted, err error) {
	err = f.call(func() error { done, err = f.Saver.Post(ctx, posts...); return err })
	if err != nil {
		done = nil
	}
	return done, err
}

func (f *faulty) Mail(ctx context.Context, q checkpoint.MailQuery) (found []checkpoint.Message, err error) {
	err = f.call(func() error { found, err = f.Saver.Mail(ctx, q); return err })
	if err != nil {
		found = nil
	}
	return found, err
}

func (f *faulty) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return f.call(func() error { return f.Saver.Rewake(ctx, r) })
}

func (f *faulty) Delete(ctx context.Context, thread string) error {
	return f.call(func() error { return f.Saver.Delete(ctx, thread) })
}

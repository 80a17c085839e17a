package checkpoint

import (
	"context"
	"time"
)

// Notifier is a [Saver] that announces each time at which a thread becomes due, each message, each
// reply, and each end of a run. Workers need not poll it. A saver can be a Notifier only if all
// calls that change its threads go through it.
type Notifier interface {
	// Notify calls due after each write that sets or removes the Wake of a thread or gives a
	// reply, after each Post, and after the removal of a thread, until stop is called. A call can
	// be one too many.
	// due must return immediately, and must not call the saver.
	Notify(ctx context.Context, due func(Notice)) (stop func(), err error)
}

// Notice is an announcement of a [Notifier]. Its fields are those of the Thread, and of News. Wake
// and the numbers are zero for a thread that was removed.
type Notice struct {
	Graph   string
	Thread  string
	Wake    time.Time
	Posted  uint64
	Replies uint64
}

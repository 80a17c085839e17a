package checkpoint

import (
	"context"
	"time"
)

// Notifier is a [Saver] that announces each time at which a thread becomes due, and each message.
// Workers need not poll it. A saver can be a Notifier only if all calls that change its threads go
// through it.
type Notifier interface {
	// Notify calls due after each write that sets the Wake of a thread, and after each Post to a
	// thread with a Wake, until stop is called. A call can be one too many. due must return
	// immediately, and must not call the saver.
	Notify(ctx context.Context, due func(Notice)) (stop func(), err error)
}

// Notice is an announcement of a [Notifier]. Its fields are those of the Thread.
type Notice struct {
	Graph  string
	Thread string
	Wake   time.Time
	Posted uint64
}

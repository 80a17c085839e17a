package graphhttp

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Option is an option of New.
type Option interface{ set(o *options) }

type options struct {
	kinds        graph.EventKind
	heartbeat    time.Duration
	poll         time.Duration
	writeTimeout time.Duration
	buffer       int
	replay       int
	atOnce       int
	withClient   bool
	report       func(thread string, err error)
}

type option func(o *options)

func (f option) set(o *options) { f(o) }

// Events chooses what clients are told beside checkpoints, by or-ed kinds. The default is graph.EventAll. Without
// EventValue checkpoints come without their state, and none is decoded or shared for them.
func Events(kinds graph.EventKind) Option { return option(func(o *options) { o.kinds = kinds }) }

// Heartbeat sets after what silence a comment is sent, so that proxies keep the connection and a client that is gone is
// found out. The default is 15 seconds.
func Heartbeat(d time.Duration) Option {
	return option(func(o *options) { o.heartbeat = max(d, time.Millisecond) })
}

// Poll sets how often a followed thread that another process runs is looked at, once for all its followers. The default is one
// second.
func Poll(d time.Duration) Option {
	return option(func(o *options) { o.poll = max(d, time.Millisecond) })
}

// WriteTimeout bounds how long a client may take for 64 KiB, or for less when there is less to write; the stream ends when it
// takes longer. The default is 30 seconds.
func WriteTimeout(d time.Duration) Option {
	return option(func(o *options) { o.writeTimeout = max(d, time.Millisecond) })
}

// Buffer sets how many bytes wait for a slow client before it has fallen behind; one event may be larger. The default is
// 1 MiB.
func Buffer(n int) Option { return option(func(o *options) { o.buffer = max(n, 1) }) }

// Replay sets how many missed checkpoints a client is given at most; one that missed more gets the newest alone. The
// default is 1000; less than 1 is 1.
func Replay(n int) Option { return option(func(o *options) { o.replay = max(n, 1) }) }

// ReplaysAtOnce sets how many clients are given stored checkpoints at once; the others wait for their turn. Each takes as much
// memory as the thread's state. A client that is slow to take what it is given does not keep others waiting. The default is 4;
// less than 1 is 1.
func ReplaysAtOnce(n int) Option { return option(func(o *options) { o.atOnce = max(n, 1) }) }

// EndWithClient cancels a run when the client that started it by POST leaves. The run stops as any cancelled one does, and
// can be resumed.
func EndWithClient() Option { return option(func(o *options) { o.withClient = true }) }

// Report hands f what went wrong inside: a history that cannot be read, an event that cannot be encoded, a run that could
// not be opened for reasons the client has no part in. Clients are told only that something did. f is called from many
// goroutines; a panic of f is dropped.
func Report(f func(thread string, err error)) Option {
	return option(func(o *options) { o.report = f })
}

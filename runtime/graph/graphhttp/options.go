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
	custom       int
	replay       int
	atOnce       int
	withClient   bool
	report       func(thread string, err error)
}

type option func(o *options)

func (f option) set(o *options) { f(o) }

// Events selects the events that clients get in addition to checkpoints, as or-ed kinds. The
// default is graph.EventAll. Without EventState checkpoints have no state, and no state is decoded
// or shared for them.
func Events(kinds graph.EventKind) Option { return option(func(o *options) { o.kinds = kinds }) }

// Heartbeat sets the idle time after which the Hub sends a comment. Comments keep proxies from
// closing the connection, and reveal clients that have left. The default is 15 seconds.
func Heartbeat(d time.Duration) Option {
	return option(func(o *options) { o.heartbeat = max(d, time.Millisecond) })
}

// PollInterval sets the interval at which the Hub polls a followed thread that another process
// runs. All followers of a thread share one poll. The default is one second.
func PollInterval(d time.Duration) Option {
	return option(func(o *options) { o.poll = max(d, time.Millisecond) })
}

// WriteTimeout sets the maximum time in which a client must take 64 KiB, or the rest of the data
// if that is less. The stream ends when the client takes longer. The default is 30 seconds.
func WriteTimeout(d time.Duration) Option {
	return option(func(o *options) { o.writeTimeout = max(d, time.Millisecond) })
}

// BufferSize sets the size of a client's queue in bytes. A client that exceeds it has fallen
// behind. One event may be larger than the queue. The default is 1 MiB.
func BufferSize(n int) Option { return option(func(o *options) { o.buffer = max(n, 1) }) }

// CustomBuffer sets how many bytes of custom events the Hub keeps for each thread. They are the
// events of tasks whose superstep is not committed. A client that connects gets them after the
// checkpoints, so a page that is loaded again shows an answer in progress from its beginning. If
// there are more bytes, the Hub drops the oldest events, and the client gets an event named
// missing. The default is 256 KiB; 0 keeps none.
func CustomBuffer(n int) Option { return option(func(o *options) { o.custom = max(n, 0) }) }

// CatchUpLimit sets the maximum number of missed checkpoints that a client gets. A client that
// missed more gets only the newest checkpoint. The default is 1000; values less than 1 count as 1.
func CatchUpLimit(n int) Option { return option(func(o *options) { o.replay = max(n, 1) }) }

// CatchUpConcurrency sets how many clients may read stored checkpoints concurrently. Other clients
// wait. Each of these clients takes as much memory as the state of its thread. A slow client does
// not block the others. The default is 4; values less than 1 count as 1.
func CatchUpConcurrency(n int) Option { return option(func(o *options) { o.atOnce = max(n, 1) }) }

// CancelOnDisconnect cancels a run when the client that started it by POST disconnects. The run
// stops like any cancelled run and can be resumed.
func CancelOnDisconnect() Option { return option(func(o *options) { o.withClient = true }) }

// OnError sets a function that receives internal errors. Examples are a history that cannot be
// read, an event that cannot be encoded, and a run that cannot be opened because of the server.
// Clients get no details of these errors. f is called concurrently, and panics of f are discarded.
func OnError(f func(thread string, err error)) Option {
	return option(func(o *options) { o.report = f })
}

package graph

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// listener reads the messages that come while a run is in progress, and cancels the run if
// somebody asks for it. The journal reports messages: from the replies to writes, and from the
// questions of package news.
type listener struct {
	g      *core
	thread string

	mu      sync.Mutex
	ctx     context.Context      // of the run; nil until start
	cancel  func(cause error)    // ends that
	after   uint64               // the newest message that is older than the run
	news    bool                 // a message has come that was not read
	reading bool                 // a goroutine reads
	inbox   []checkpoint.Message // the messages with the cancel
	handled checkpoint.Handled   // what the end of a cancelled run makes of them
	newest  uint64               // the newest of these messages
	waits   journal.Inputs       // which inputs it leaves
	reads   sync.WaitGroup
}

// configure makes the journal call the listener.
func (l *listener) configure(c *journal.Config) {
	if l != nil {
		c.News = l.hear
	}
}

// start begins to listen for messages that are newer than after.
func (l *listener) start(ctx context.Context, cancel func(error), after uint64) {
	l.mu.Lock()
	l.ctx, l.cancel, l.after = ctx, cancel, after
	news := l.news
	l.mu.Unlock()
	if news {
		l.hear()
	}
}

// stop waits until nothing is read any more.
func (l *listener) stop() {
	l.mu.Lock()
	l.ctx = nil
	l.mu.Unlock()
	l.reads.Wait()
}

// hear notes that a message has come. It returns immediately.
func (l *listener) hear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news = true
	if l.ctx == nil || l.reading {
		return
	}
	l.reading = true
	l.reads.Add(1)
	go l.read(l.ctx)
}

// rereadPause is the time after which messages are read again that could not be read.
const rereadPause = time.Second

// read reads messages until there is nothing new. If it fails, it is called again after a pause.
// If the run ends before, the end of the run makes the thread due, and the next run reads them.
func (l *listener) read(ctx context.Context) {
	defer l.reads.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.news && l.ctx != nil {
		l.news = false
		l.mu.Unlock()
		all, err := l.messages(ctx, l.after)
		l.mu.Lock()
		if err != nil {
			time.AfterFunc(rereadPause, l.hear)
			break
		}
		l.obey(all)
	}
	l.reading = false
}

// messages reads the messages that are newer than after. If there is a cancel among them, messages
// reads all: the cancel also ends inputs that waited before the run began.
func (l *listener) messages(ctx context.Context, after uint64) ([]checkpoint.Message, error) {
	all, err := l.g.mail(ctx, checkpoint.MailQuery{Thread: l.thread, After: after})
	asked := func(m checkpoint.Message) bool { return m.Kind == checkpoint.CancelMessage }
	if err != nil || after == 0 || !slices.ContainsFunc(all, asked) {
		return all, err
	}
	return l.g.mail(ctx, checkpoint.MailQuery{Thread: l.thread})
}

// obey cancels the run if there is a cancel among messages.
func (l *listener) obey(all []checkpoint.Message) {
	var box inbox.Box
	box.Read(all, 0)
	reason, a, ok := box.ObeyAll()
	if !ok {
		return
	}
	a.Add(box.RefuseAnswers(nil))
	l.inbox, l.handled, l.newest, l.waits = all, a.Messages, box.Known, box.Waits()
	l.cancel(&CancelledError{Graph: l.g.name, Thread: l.thread, Reason: reason})
}

// cancelled returns the error of a run that was cancelled by a message, and what its end makes of
// the messages. It returns nil for any other run, and for a subgraph call.
func (l *listener) cancelled(r *run) (*CancelledError, checkpoint.Handled) {
	if l == nil || r.call != nil || r.health == unsure || r.ctx.Err() == nil {
		return nil, checkpoint.Handled{}
	}
	var asked *CancelledError
	if !errors.As(context.Cause(r.ctx), &asked) || asked.Thread != l.thread {
		return nil, checkpoint.Handled{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return asked, l.handled
}

// reportRefused is that of the run, for the inputs that the cancel refuses.
func (l *listener) reportRefused(r *run) error {
	l.mu.Lock()
	inputs, refused := l.inbox, l.handled.Refuse
	l.mu.Unlock()
	return r.reportRefused(inputs, refused)
}

// obeyed notes that the run ends because of a message. It has then looked at all messages that
// were read with that one.
func (l *listener) obeyed(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest > 0 { // else the run ends at its deadline
		r.log.See(l.newest, l.waits)
	}
}

// CancelledError is returned by the call whose run was ended by Thread.Cancel, by CancelPending or
// by ExecutionTimeout.
type CancelledError struct {
	Graph  string
	Thread string
	Reason string // of the cancel; empty for none
}

func (e *CancelledError) Error() string { return where(e.Graph, e.Thread, -1) + ": " + e.text() }

func (e *CancelledError) text() string { return inbox.CancelText(e.Reason) }

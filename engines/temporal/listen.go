package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// errEnded is the error of a listener whose workflow somebody has ended.
var errEnded = errors.New("the workflow of the hints has ended, because somebody ended it; call Listen again to begin another")

// Listen calls hint for the hints of graphs, as worker.Engine says. It makes one long poll for
// each graph, and one for the tasks of the workflows. It returns an error as soon as one of them
// fails; the worker then calls it again.
func (e *Engine) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	err := ctx.Err()
	if err == nil {
		err = e.listen(ctx, graphs, hint)
	}
	return fmt.Errorf("temporal: listen: %w", err)
}

func (e *Engine) listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	var all, begun sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all.Go(func() { cancel(e.answers.run(ctx)) })
	for _, graph := range graphs {
		l := &listener{Engine: e, graph: graph, hint: hint, nonce: rand.Text(), begun: sync.OnceFunc(begun.Done)}
		begun.Add(1)
		all.Go(func() {
			defer l.begun()
			cancel(l.follow(ctx))
		})
	}
	begun.Wait()
	if ctx.Err() == nil {
		hint("", "")
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// listener reads the history of the workflow of one graph.
type listener struct {
	*Engine
	graph string
	hint  func(graph, thread string)
	nonce string // the input of its own signal
	hears bool   // that signal has arrived
	begun func() // called then
}

// follow reads the runs of the workflow, one after another.
func (l *listener) follow(ctx context.Context) error {
	run, err := l.signal(ctx, l.graph, beginSignal, l.nonce)
	for err == nil {
		run, err = l.read(ctx, run)
	}
	return err
}

// read reads the history of a run until it has ended. It returns the id of the next run.
func (l *listener) read(ctx context.Context, run string) (next string, err error) {
	var token []byte
	for {
		events, after, err := l.events(ctx, run, token)
		if err != nil {
			return "", err
		}
		for _, event := range events {
			if s := event.GetWorkflowExecutionSignaledEventAttributes(); s != nil {
				l.hear(s)
			}
			if c := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); c != nil {
				next = c.GetNewExecutionRunId()
			}
		}
		if token = after; len(token) > 0 {
			continue
		}
		if next == "" {
			return "", errEnded
		}
		return next, nil
	}
}

// events waits for events after those that token stands for. The next token is empty after the
// last event of the run.
func (l *listener) events(ctx context.Context, run string, token []byte) ([]*historypb.HistoryEvent, []byte, error) {
	call, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	resp, err := l.service.GetWorkflowExecutionHistory(call, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace:     l.namespace,
		Execution:     &commonpb.WorkflowExecution{WorkflowId: l.workflow(l.graph), RunId: run},
		WaitNewEvent:  true,
		SkipArchival:  true,
		NextPageToken: token,
	})
	return resp.GetHistory().GetEvents(), resp.GetNextPageToken(), err
}

// hear handles a signal. Hints before the signal of the listener are old.
func (l *listener) hear(s *historypb.WorkflowExecutionSignaledEventAttributes) {
	var input string
	if p := s.GetInput().GetPayloads(); len(p) > 0 {
		input = string(p[0].GetData())
	}
	switch {
	case s.GetSignalName() == beginSignal && input == l.nonce:
		l.hears = true
		l.begun()
	case s.GetSignalName() == hintSignal && l.hears:
		l.hint(l.graph, input)
	}
}

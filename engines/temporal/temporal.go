// Package temporal (experimental) carries the hints of workers over Temporal.
//
//	c, err := client.Dial(client.Options{HostPort: "localhost:7233"}) // go.temporal.io/sdk/client
//	engine := graphgentemporal.NewEngine(c, "graphgen", graphgentemporal.EngineOptions{})
//	saver := worker.Announce(db, engine, nil)
//	w := worker.New(saver, worker.Options{Engine: engine}, apps...)
//
// Threads stay in the saver. Each graph has one workflow, which runs for ever. A hint is a signal
// to it. Each listener reads the history of the workflow by a long poll. So all listeners get a
// hint as soon as the server has stored it, without a task for a worker.
package temporal

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Engine is a worker.Engine over Temporal. NewEngine makes it. An Engine is safe for concurrent
// use.
type Engine struct {
	service   workflowservice.WorkflowServiceClient
	prefix    string
	namespace string
	answers   *answerer // of the workflows of all graphs
}

// EngineOptions are the options of an Engine.
type EngineOptions struct {
	// Namespace is that of the client. The default is "default", as for clients.
	Namespace string
}

// The limits of an Engine.
const (
	timeout  = 10 * time.Second // of a call
	longPoll = 65 * time.Second // of a call that waits for news; the server answers earlier
	longest  = 1000             // bytes of the id of a thread in a hint
	newRunAt = 500              // events; at the next hint after them, the workflow continues as new
)

// The names of the workflow type and of the signals of an Engine.
const (
	hintsType   = "graphgen-hints"
	hintSignal  = "hint"  // its input is the id of a thread
	beginSignal = "begin" // of a listener, which waits for its own signal; its input is random
)

// NewEngine returns an engine on c. Processes share hints if they use the same server, namespace
// and prefix. The ids of its workflows are <prefix>-hints-<graph>-<hash>, and their task queue is
// <prefix>-hints. The prefix is part of ids, and must be valid UTF-8 of at most 500 bytes.
//
// The client needs the permission to start and signal workflows, to read their histories, and to
// answer their tasks. The id of a thread travels as it is: the DataConverter of c does not apply.
//
// The caller closes c.
func NewEngine(c client.Client, prefix string, opt EngineOptions) *Engine {
	e := &Engine{service: c.WorkflowService(), prefix: prefix, namespace: cmp.Or(opt.Namespace, client.DefaultNamespace)}
	e.answers = &answerer{service: e.service, namespace: e.namespace, queue: prefix + "-hints"}
	return e
}

// workflow returns the id of the workflow of a graph.
func (e *Engine) workflow(graph string) string {
	return e.prefix + "-hints-" + readable(graph) + "-" + hash(graph)
}

// hash returns 32 hexadecimal digits that identify a name.
func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// readable returns the beginning of a name for ids that people read. Names may have any bytes,
// and ids have limits.
func readable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '_'
	}, name[:min(len(name), 60)])
}

// Wake sends a hint, as worker.Engine says. It waits up to ten seconds until the server has stored
// it. A thread id of more than 1000 bytes is left out.
//
// While no process listens to any graph, the server keeps the hints of a graph. After 10,000
// of them, it refuses further ones until a process listens.
func (e *Engine) Wake(ctx context.Context, graph, thread string) error {
	if len(thread) > longest {
		thread = ""
	}
	if _, err := e.signal(ctx, graph, hintSignal, thread); err != nil {
		return fmt.Errorf("temporal: signal a hint: %w", err)
	}
	return nil
}

// signal sends a signal to the workflow of a graph, which it starts if there is none. It returns
// the id of the run that has the signal. It tries again while the server has no room, for example
// because the workflow continues as new.
func (e *Engine) signal(ctx context.Context, graph, name, input string) (run string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := e.request(graph, name, input)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		resp, err := e.service.SignalWithStartWorkflowExecution(ctx, request)
		if busy := new(serviceerror.ResourceExhausted); !errors.As(err, &busy) {
			return resp.GetRunId(), err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", err
		}
	}
}

// request returns the request of a signal.
func (e *Engine) request(graph, name, input string) *workflowservice.SignalWithStartWorkflowExecutionRequest {
	return &workflowservice.SignalWithStartWorkflowExecutionRequest{
		Namespace:                e.namespace,
		WorkflowId:               e.workflow(graph),
		WorkflowType:             &commonpb.WorkflowType{Name: hintsType},
		TaskQueue:                normalQueue(e.answers.queue),
		WorkflowTaskTimeout:      durationpb.New(time.Second), // the server keeps hints back during a task
		RequestId:                crand.Text(),
		WorkflowIdReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIdConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		SignalName:               name,
		SignalInput:              payloads(input),
	}
}

// payloads returns the input of a signal. Ids may have any bytes.
func payloads(input string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{
		Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte(input),
	}}}
}

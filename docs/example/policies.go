package example

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Errors of a model.
var (
	ErrInvalid   = errors.New("the request is invalid")
	ErrRateLimit = errors.New("too many requests")
)

func isInvalid(err error) bool { return errors.Is(err, ErrInvalid) }

func isRateLimit(err error) bool { return errors.Is(err, ErrRateLimit) }

// NewLetters returns a graph that drafts and reviews a letter with a model. perSecond bounds how
// many calls start in a second: rate.NewLimiter(50, 1), of golang.org/x/time/rate.
func NewLetters(draft, review func(context.Context, State) (StateUpdate, error), perSecond interface{ Wait(context.Context) error }) (*graph.Graph[State, StateUpdate], error) {
	patient := graph.Retry(
		graph.RetryPolicy{If: isInvalid},                                        // never
		graph.RetryPolicy{If: isRateLimit, Attempts: 10, Base: 5 * time.Second}, // patiently
		graph.RetryPolicy{Attempts: 3},                                          // everything else
	)
	g := graph.New("letters", StateSchema)
	model := graph.Limit(graph.MaxConcurrent(8), graph.Rate(perSecond))
	g.Node("draft", draft, model, patient)
	g.Node("review", review, model, patient)
	g.Chain(graph.Start, "draft", "review", graph.End)
	return g.Compile()
}

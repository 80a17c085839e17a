package graphpure

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand"
	randv2 "math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

var (
	refund = graph.NewQuestion[desk.Ask, desk.Reply]("refund")
	simple = graph.NewQuestion[wire.String, wire.Bool]("simple")
)

func now(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status, At: time.Now()}) // want `depends on time\.Now`
	return desk.StateUpdate{}, err
}

func variable(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	q := desk.Ask{Text: s.Status}
	q.At = time.Now().Add(time.Hour).UTC()
	_, err := refund.Ask(ctx, q, graph.As("seller")) // want `depends on time\.Now`
	return desk.StateUpdate{}, err
}

func text(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	text := "asked at " + time.Now().Format(time.RFC3339)
	_, err := simple.Ask(ctx, wire.String(text)) // want `depends on time\.Now`
	return desk.StateUpdate{}, err
}

func printed(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := simple.Ask(ctx, wire.String(fmt.Sprintf("%s-%d", s.Status, rand.Int()))) // want `depends on rand\.Int`
	return desk.StateUpdate{}, err
}

func random(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if _, err := refund.Ask(ctx, desk.Ask{N: randv2.IntN(3)}); err != nil { // want `depends on rand\.IntN`
		return desk.StateUpdate{}, err
	}
	_, err := simple.Ask(ctx, wire.String(crand.Text())) // want `depends on rand\.Text`
	return desk.StateUpdate{}, err
}

func id(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := simple.Ask(ctx, wire.String(uuid.New().String())) // want `depends on uuid\.New`
	return desk.StateUpdate{}, err
}

func attempt(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{N: graph.CurrentTask(ctx).Attempt}) // want `depends on Task\.Attempt`
	return desk.StateUpdate{}, err
}

func age(started time.Time) int { return int(time.Since(started).Hours()) }

func question(s desk.State, started time.Time) desk.Ask {
	return desk.Ask{Text: s.Status, N: age(started)}
}

func helpers(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, question(s, time.Time{})) // want `depends on time\.Since`
	return desk.StateUpdate{}, err
}

func chosen(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	at := time.Time{}
	if s.Total > 0 {
		at = time.Now()
	}
	_, err := refund.Ask(ctx, desk.Ask{At: at}) // want `depends on time\.Now`
	return desk.StateUpdate{}, err
}

func byValue(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	ask := refund.Ask
	_, err := ask(ctx, desk.Ask{At: time.Now()}, graph.As("seller")) // want `depends on time\.Now`
	return desk.StateUpdate{}, err
}

func fills(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b := make([]byte, 8)
	_, _ = crand.Read(b)
	if _, err := simple.Ask(ctx, wire.String(hex.EncodeToString(b))); err != nil { // want `depends on rand\.Read`
		return desk.StateUpdate{}, err
	}
	var key [4]byte
	_, _ = io.ReadFull(crand.Reader, key[:])
	_, err := simple.Ask(ctx, wire.String(hex.EncodeToString(key[:]))) // want `depends on rand\.Reader`
	return desk.StateUpdate{}, err
}

// ask asks for its callers.
func ask(ctx context.Context, name string, at time.Time) error {
	_, err := refund.Ask(ctx, desk.Ask{Text: name, At: at})
	return err
}

func askLater(ctx context.Context, at time.Time) error { return ask(ctx, "later", at.Add(time.Hour)) }

func send(ctx context.Context, q desk.Ask) error {
	_, err := refund.Ask(ctx, q)
	return err
}

func passes(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if err := ask(ctx, s.Status, time.Now()); err != nil { // want `the payload of the question in ask depends on time\.Now`
		return desk.StateUpdate{}, err
	}
	if err := askLater(ctx, time.Now()); err != nil { // want `the payload of the question in askLater depends on time\.Now`
		return desk.StateUpdate{}, err
	}
	if err := send(ctx, desk.Ask{N: rand.Int()}); err != nil { // want `the payload of the question in send depends on rand\.Int`
		return desk.StateUpdate{}, err
	}
	return desk.StateUpdate{}, ask(ctx, uuid.NewString(), s.At) // want `the payload of the question in ask depends on uuid\.NewString`
}

// BadGraph has a task node that asks.
func BadGraph() {
	g := graph.New("bad", desk.StateSchema)
	graph.TaskNode(g, "a", func(ctx context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
		_, err := refund.Ask(ctx, desk.Ask{Text: d.Name, At: time.Now()}) // want `depends on time\.Now`
		return desk.StateUpdate{}, err
	}, refund)
}

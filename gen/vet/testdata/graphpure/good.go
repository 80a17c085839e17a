package graphpure

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"log"
	"math/rand"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

func constant(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: "Pay?", At: time.Unix(0, 0)})
	return desk.StateUpdate{}, err
}

func fromState(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: strings.ToUpper(s.Status), N: len(s.Log)})
	return desk.StateUpdate{}, err
}

func fromKey(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := simple.Ask(ctx, wire.String(graph.CurrentTask(ctx).Key))
	return desk.StateUpdate{}, err
}

func durable(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	at, err := graph.Do(ctx, "now", func(context.Context) (wire.String, error) {
		return wire.String(time.Now().Format(time.RFC3339)), nil
	})
	if err != nil {
		return desk.StateUpdate{}, err
	}
	_, err = simple.Ask(ctx, at)
	return desk.StateUpdate{}, err
}

func measures(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	started := time.Now()
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status})
	log.Println("asked for", time.Since(started))
	return desk.StateUpdate{}, err
}

func decides(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if rand.Int() > 3 {
		log.Println("lucky")
	}
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status}, graph.ExpireAfter(time.Hour))
	return desk.StateUpdate{}, err
}

func afterwards(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	q := desk.Ask{Text: s.Status}
	_, err := refund.Ask(ctx, q)
	q.At = time.Now()
	log.Println(q)
	return desk.StateUpdate{}, err
}

func otherField(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	q := desk.Ask{Text: s.Status, At: time.Now()}
	_, err := simple.Ask(ctx, wire.String(q.Text))
	return desk.StateUpdate{}, err
}

func swaps(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	a, b := desk.Ask{N: 1}, desk.Ask{N: 2}
	for range 3 {
		a, b = b, a
		a.Text, b.Text = b.Text, a.Text
	}
	_, err := refund.Ask(ctx, a)
	return desk.StateUpdate{}, err
}

func seeded(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	r := rand.New(rand.NewSource(s.Total)) // the same numbers in each run
	_, err := refund.Ask(ctx, desk.Ask{N: r.Intn(3)})
	return desk.StateUpdate{}, err
}

// options are of askWith.
type options struct {
	text string
	at   time.Time
}

func askWith(ctx context.Context, o options, started time.Time) error {
	_, err := refund.Ask(ctx, desk.Ask{Text: o.text})
	log.Println("asked for", time.Since(started), o.at)
	return err
}

func passesOthers(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if err := askWith(ctx, options{text: s.Status, at: time.Now()}, time.Now()); err != nil {
		return desk.StateUpdate{}, err
	}
	return desk.StateUpdate{}, ask(ctx, s.Status, s.At)
}

func fillsOthers(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	b, key := make([]byte, 8), make([]byte, 8)
	copy(b, s.Status)
	_, _ = crand.Read(key)
	_, err := simple.Ask(ctx, wire.String(hex.EncodeToString(b)))
	_, _ = crand.Read(b)
	log.Println(b, key)
	return desk.StateUpdate{}, err
}

package grapherr

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func returned(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status})
	if err != nil {
		return desk.StateUpdate{}, err
	}
	return desk.StateUpdate{}, graph.Sleep(ctx, 1)
}

func wrapped(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	if _, err := refund.Ask(ctx, desk.Ask{Text: s.Status}); err != nil {
		return desk.StateUpdate{}, fmt.Errorf("refund of %s: %w", s.Status, err)
	}
	return desk.StateUpdate{}, nil
}

func returnedAtTheEnd(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	answer, err := refund.Ask(ctx, desk.Ask{Text: s.Status})
	var u desk.StateUpdate
	if answer.OK {
		u.Log.Append("paid")
	}
	return u, err
}

func expires(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status}, graph.ExpireAfter(1))
	switch {
	case errors.Is(err, graph.ErrExpired):
		u.Log.Append("expired")
	case err != nil:
		return u, err
	}
	return u, nil
}

func anotherError(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status})
	if err != nil {
		log.Println(err)
		return desk.StateUpdate{}, errors.New("no answer yet")
	}
	return desk.StateUpdate{}, nil
}

func named(ctx context.Context, s desk.State) (u desk.StateUpdate, err error) {
	defer func() {
		if err != nil {
			log.Println(err)
		}
	}()
	_, err = refund.Ask(ctx, desk.Ask{Text: s.Status})
	return
}

func joined(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err1 := refund.Ask(ctx, desk.Ask{Text: s.Status}, graph.As("a"))
	_, err2 := refund.Ask(ctx, desk.Ask{Text: s.Status}, graph.As("b"))
	return desk.StateUpdate{}, errors.Join(err1, err2)
}

func loops(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var errs []error
	for _, d := range s.Docs {
		_, err := refund.Ask(ctx, desk.Ask{Text: d.Name}, graph.As(d.Name))
		errs = append(errs, err)
	}
	return desk.StateUpdate{}, errors.Join(errs...)
}

func passesTuple(ctx context.Context, s desk.State) (desk.Reply, error) {
	return refund.Ask(ctx, desk.Ask{Text: s.Status})
}

func asked(ctx context.Context) (desk.Reply, bool) {
	answer, err := refund.Ask(ctx, desk.Ask{})
	return answer, err == nil
}

func handledElsewhere(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{})
	return desk.StateUpdate{}, check(err)
}

func check(err error) error { return err }

func panics(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	if err := graph.Sleep(ctx, 1); err != nil {
		panic(err)
	}
	return desk.StateUpdate{}, nil
}

func stored(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	var err error
	func() {
		_, err = refund.Ask(ctx, desk.Ask{})
	}()
	return desk.StateUpdate{}, err
}

// expired returns no error of Ask.
func expired(ctx context.Context) (bool, error) {
	_, err := refund.Ask(ctx, desk.Ask{})
	if err == nil {
		return true, nil
	}
	return false, errors.New("no answer")
}

func callsHelpers(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	if _, err := passesTuple(ctx, desk.State{}); err != nil {
		return desk.StateUpdate{}, err
	}
	_, _ = expired(ctx)
	_ = check(nil)
	return desk.StateUpdate{}, graph.Sleep(ctx, 1)
}

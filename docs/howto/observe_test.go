package howto_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleNewPayments() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "took" {
			return slog.Attr{}
		}
		return a
	}}))
	app, err := howto.NewPayments(memory.New(), logger, map[string]bool{"ada": true})
	if err != nil {
		log.Fatal(err)
	}
	ctx := howto.WithUser(context.Background(), "ada")
	res, err := app.Thread("t-1").Invoke(ctx, howto.StateUpdate{Order: state.Set("A-1")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Paid)
	// Output:
	// level=INFO msg="run started" graph=payments thread=t-1 step=1
	// level=INFO msg="run ended" graph=payments thread=t-1 step=2 status=done
	// done true
}

func TestPaymentsNeedAClerk(t *testing.T) {
	var out bytes.Buffer
	s := memory.New()
	open := func(clerks map[string]bool) func(context.Context) error {
		app, err := howto.NewPayments(s, slog.New(slog.NewTextHandler(&out, nil)), clerks)
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := app.Thread("t-1").Resume(ctx)
			return err
		}
	}
	app, err := howto.NewPayments(s, slog.New(slog.NewTextHandler(&out, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Thread("t-1").Invoke(howto.WithUser(t.Context(), "eve"), howto.StateUpdate{Order: state.Set("A-1")})
	if !errors.Is(err, howto.ErrNotAllowed) {
		t.Errorf("got %v, want ErrNotAllowed", err)
	}
	if !strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("the log has no error:\n%s", out.String())
	}
	if err := open(map[string]bool{"ada": true})(t.Context()); !errors.Is(err, howto.ErrNotAllowed) {
		t.Errorf("a Resume without a user: got %v, want ErrNotAllowed for the stored user", err)
	}
	if err := open(map[string]bool{"eve": true})(t.Context()); err != nil {
		t.Errorf("a Resume after eve became a clerk: %v", err)
	}
}

package migrate

import (
	"strings"
	"testing"

	v1 "github.com/graphgen-go/graphgen/docs/howto/migrate/v1"
	v2 "github.com/graphgen-go/graphgen/docs/howto/migrate/v2"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// stopped returns a saver in which version 1 has stopped a cart with a price.
func stopped(t *testing.T, price string) checkpoint.Saver {
	t.Helper()
	saver := memory.New()
	old, err := v1.NewCart(saver)
	if err != nil {
		t.Fatal(err)
	}
	in := v1.StateUpdate{Item: state.Set("lamp"), Price: state.Set(price), Note: state.Set("fragile")}
	if _, err := old.Thread("cart-1").Invoke(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return saver
}

func TestVersion2ContinuesACartOfVersion1(t *testing.T) {
	app, err := v2.NewCart(stopped(t, "12.50"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Thread("cart-1").Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := res.State
	if s.Price != 1250 || s.Currency != "EUR" || s.Remark != "fragile" {
		t.Errorf("got price %d %s, remark %q; want 1250 EUR, fragile", s.Price, s.Currency, s.Remark)
	}
	if got, want := strings.Join(s.Log, ", "), "checked lamp for 12.50, ordered for 1250 EUR cents"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestAPriceThatCannotBeReadStopsTheThread(t *testing.T) {
	saver := stopped(t, "free")
	app, err := v2.NewCart(saver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("cart-1").Resume(t.Context()); err == nil || !strings.Contains(err.Error(), "the price of lamp") {
		t.Errorf("got %v, want an error that names the price of lamp", err)
	}
	old, err := v1.NewCart(saver)
	if err != nil {
		t.Fatal(err)
	}
	if snap, err := old.Thread("cart-1").State(t.Context()); err != nil || snap.State.Price != "free" {
		t.Errorf("version 1 reads %q, %v; want the stored price", snap.State.Price, err)
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
)

// A short fleet; make fleet runs a long one.
func TestEachOrderOfAFleetEndsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and kills processes")
	}
	args := []string{"-orders", "60", "-kills", "6"}
	var out strings.Builder
	if code := command(t.Context(), append(args, "-lease", "1s", "-pay-within", "5s"), &out, t.Output()); code != 0 {
		t.Errorf("got code %d, want 0", code)
	}
	t.Log(out.String())
}

// A short rollout of three releases, with old and new processes side by side.
func TestEachOrderOfARolloutEndsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and kills processes")
	}
	args := []string{"-rollout", "-orders", "100", "-kills", "6"}
	var out strings.Builder
	if code := command(t.Context(), append(args, "-lease", "1s", "-pay-within", "5s"), &out, t.Output()); code != 0 {
		t.Errorf("got code %d, want 0", code)
	}
	if want := "releases    3,"; !strings.Contains(out.String(), want) {
		t.Errorf("the report does not have %q", want)
	}
	t.Log(out.String())
}

func TestTheReportFindsLostAndRepeatedOrders(t *testing.T) {
	kept, undone := partners.Deeds{Done: 1}, partners.Deeds{Done: 1, Undone: 1}
	payer := plan{name: "pays", item: "tea", card: "4000"}
	all := func(d partners.Deeds) map[string]partners.Deeds {
		return map[string]partners.Deeds{"stock": d, "charges": d, "parcels": d}
	}
	for _, c := range []struct {
		what  string
		seen  view
		deeds map[string]partners.Deeds
		want  int // faults
	}{
		{"shipped", view{Status: "done", Outcome: "shipped"}, all(kept), 0},
		{"not ended", view{Status: "failed", Outcome: ""}, nil, 1},
		{"expired, but paid in time", view{Status: "done", Outcome: "expired"}, map[string]partners.Deeds{"stock": undone}, 1},
		{"not charged", view{Status: "done", Outcome: "shipped"}, map[string]partners.Deeds{"stock": kept, "parcels": kept}, 1},
		{"everything twice", view{Status: "done", Outcome: "shipped"}, all(partners.Deeds{Done: 2}), 3},
		{"a step stored twice", view{Status: "done", Outcome: "shipped", Log: []string{"a", "b", "a"}}, all(kept), 1},
	} {
		got := (&customer{id: "a", plan: payer, inTime: true, seen: c.seen}).faults(c.deeds)
		if len(got) != c.want {
			t.Errorf("%s: got %q, want %d faults", c.what, got, c.want)
		}
	}
}

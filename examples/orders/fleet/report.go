package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
)

// report is what happened to all orders.
type report struct {
	orders, killed, takeOvers int
	releases, left            int
	outcomes                  map[string]int
	repeated                  []partners.Repeat
	faults                    []string // orders that were lost or done twice
}

// report checks all orders against the books of the partners.
func (f *fleet) report(customers []*customer) report {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := report{
		orders: len(customers), killed: f.killed, takeOvers: f.takeOvers, releases: len(f.programs), left: f.left,
		outcomes: make(map[string]int), repeated: f.world.Repeated(),
	}
	for _, c := range customers {
		r.outcomes[c.seen.Outcome]++
		for _, fault := range c.faults(f.world.Order(c.id)) {
			r.faults = append(r.faults, fmt.Sprintf("order %s of a customer who %s: %s", c.id, c.plan.name, fault))
		}
	}
	return r
}

// faults returns what is wrong with an order that has ended.
func (c *customer) faults(deeds map[string]partners.Deeds) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if want := c.outcomes(); c.seen.Status != "done" || !slices.Contains(want, c.seen.Outcome) {
		fault("it is %s with the outcome %q, want it done and one of %q", c.seen.Status, c.seen.Outcome, want)
	}
	for _, partner := range []string{"stock", "charges", "parcels"} {
		d, kept := deeds[partner], 0
		if c.seen.Outcome == "shipped" {
			kept = 1
		}
		if d.Done > 1 || d.Done-d.Undone != kept {
			fault("%s: done %d times and undone %d times, want %d that stays", partner, d.Done, d.Undone, kept)
		}
	}
	if d := deeds["pickups"]; d.Done > 1 {
		fault("pickups: done %d times, want once at most", d.Done)
	}
	for i, line := range c.seen.Log {
		// A cancel undoes again what was undone.
		if slices.Contains(c.seen.Log[:i], line) && !c.plan.cancels {
			fault("it logged twice: %s", line)
		}
	}
	return faults
}

// outcomes returns how the order of a customer can end. It can be faster than a cancel.
func (c *customer) outcomes() (can []string) {
	p := c.plan
	switch {
	case p.item == "unicorn":
		can = []string{"refused"}
	case p.card == "4000" && p.item == "tea":
		can = []string{"shipped"}
	case p.card != "":
		can = []string{"refused"}
	}
	if p.item != "unicorn" && !c.inTime {
		can = append(can, "expired")
	}
	if p.cancels {
		can = append(can, "cancelled")
	}
	return can
}

// shown is how many faults and keys are printed.
const shown = 10

func (r report) write(w io.Writer, took time.Duration) {
	var outcomes []string
	for _, name := range slices.Sorted(maps.Keys(r.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", name, r.outcomes[name]))
	}
	fmt.Fprintf(w, "  outcomes    %s\n", strings.Join(outcomes, ", "))
	fmt.Fprintf(w, "  kills       %d processes were killed with SIGKILL and replaced\n", r.killed)
	fmt.Fprintf(w, "  take-overs  %d runs continued an order whose replica had died\n", r.takeOvers)
	if r.releases > 1 {
		fmt.Fprintf(w, "  releases    %d, one process after the other; %d times one left an order to a newer release\n", r.releases, r.left)
	}
	fmt.Fprintf(w, "  repeated    %d requests to partners were sent more than once, with the same key, and done once\n", len(r.repeated))
	for _, again := range r.repeated[:min(shown, len(r.repeated))] {
		fmt.Fprintf(w, "              %s: %d times with the key %s\n", again.Request, again.Times, again.Key)
	}
	fmt.Fprintf(w, "  time        %s\n", took.Round(100*time.Millisecond))
	for _, fault := range r.faults[:min(shown, len(r.faults))] {
		fmt.Fprintf(w, "  FAULT       %s\n", fault)
	}
	if len(r.faults) > 0 {
		fmt.Fprintf(w, "fleet: %d faults\n", len(r.faults))
		return
	}
	fmt.Fprintf(w, "fleet: each of %d orders ended once\n", r.orders)
}

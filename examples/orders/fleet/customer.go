package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// customer sends one order and does what its plan says.
type customer struct {
	id     string
	plan   plan
	inTime bool // the payment was accepted before its deadline
	seen   view // of the order, in the end
}

// plan is what a customer does.
type plan struct {
	name    string
	share   int // of a hundred customers
	item    string
	card    string // that pays; empty for none
	early   bool   // the payment is sent before the order
	cancels bool   // at a random moment
}

// plans returns what customers do. The shares have the sum of 100.
func plans() []plan {
	return []plan{
		{name: "pays", share: 57, item: "tea", card: "4000"},
		{name: "pays before the order", share: 10, item: "tea", card: "4000", early: true},
		{name: "never pays", share: 8, item: "tea"},
		{name: "cancels", share: 7, item: "tea", cancels: true},
		{name: "pays and cancels", share: 8, item: "tea", card: "4000", cancels: true},
		{name: "pays with a stolen card", share: 4, item: "tea", card: "stolen"},
		{name: "orders a unicorn", share: 3, item: "unicorn"},
		{name: "orders an anvil", share: 3, item: "anvil", card: "4000"},
	}
}

// view is an order as the service shows it.
type view struct {
	Status, Outcome string
	Log             []string
}

// atOnce is the number of customers that act at the same time.
const atOnce = 24

// serve lets all customers act, and waits until their orders have ended.
func (f *fleet) serve(ctx context.Context) ([]*customer, error) {
	ctx, f.broken = context.WithCancelCause(ctx)
	defer f.broken(nil)
	rnd := rand.New(rand.NewPCG(f.seed, 0))
	var all []*customer
	var acting sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	rolled := make(chan error, 1)
	go func() { rolled <- f.rollOut(ctx) }()
	for i := range f.orders {
		c := &customer{id: fmt.Sprintf("f%d-%05d", f.seed, i), plan: draw(rnd)}
		all = append(all, c)
		pause := time.Duration(rnd.Int64N(int64(200 * time.Millisecond)))
		slots <- struct{}{}
		acting.Go(func() {
			f.act(ctx, c, pause)
			f.mu.Lock()
			f.sent++
			f.mu.Unlock()
			<-slots
		})
	}
	acting.Wait()
	if err := <-rolled; err != nil {
		return nil, err
	}
	for _, c := range all {
		f.await(ctx, c)
	}
	return all, context.Cause(ctx)
}

// draw draws a plan.
func draw(rnd *rand.Rand) plan {
	n := rnd.IntN(100)
	for _, p := range plans() {
		if n -= p.share; n < 0 {
			return p
		}
	}
	return plan{}
}

// act sends the requests of a customer.
func (f *fleet) act(ctx context.Context, c *customer, pause time.Duration) {
	began := time.Now()
	order := func() {
		f.send(ctx, http.MethodPut, "/orders/"+c.id, fmt.Sprintf(`{"item": %q, "quantity": 1, "cents": 350}`, c.plan.item))
	}
	if !c.plan.early {
		order()
	}
	if c.plan.card != "" {
		f.send(ctx, http.MethodPost, "/orders/"+c.id+"/payment", fmt.Sprintf(`{"card": %q}`, c.plan.card))
		c.inTime = c.plan.early || time.Since(began) < f.payWithin
	}
	if c.plan.early {
		order()
	}
	if c.plan.cancels {
		wait(ctx, pause)
		f.send(ctx, http.MethodDelete, "/orders/"+c.id, "")
	}
}

// patience is how long an order may take after its deadline. Then it is lost.
const patience = 3 * time.Minute

// await reads an order until it has ended or is lost.
func (f *fleet) await(ctx context.Context, c *customer) {
	ctx, cancel := context.WithTimeout(ctx, f.payWithin+patience)
	defer cancel()
	for c.seen.Status != "done" && ctx.Err() == nil {
		raw := f.send(ctx, http.MethodGet, "/orders/"+c.id+"?wait", "")
		if err := json.Unmarshal(raw, &c.seen); err != nil && ctx.Err() == nil {
			f.broken(fmt.Errorf("order %s: %w: %s", c.id, err, raw))
		}
		if c.seen.Status != "done" {
			wait(ctx, 100*time.Millisecond)
		}
	}
}

// send sends a request to any replica, until one accepts it. A replica may die after it has done
// the request, so the request can be done twice.
func (f *fleet) send(ctx context.Context, method, path, body string) []byte {
	for {
		req, err := http.NewRequestWithContext(ctx, method, f.any()+path, strings.NewReader(body))
		if err != nil {
			f.broken(err)
			return nil
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			raw, err := io.ReadAll(res.Body)
			_ = res.Body.Close() // it has been read
			if err == nil && res.StatusCode/100 == 2 {
				return raw
			}
			if res.StatusCode == http.StatusBadRequest {
				f.broken(fmt.Errorf("%s %s: the service answered %s: %s", method, path, res.Status, raw))
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

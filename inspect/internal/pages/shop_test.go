package pages_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

//go:generate go tool graphgen -type=Shop,Offer,Verdict,Payment

// Shop is the state of an order.
type Shop struct {
	Customer Customer
	Items    []Item            `graph:"append"`
	Notes    map[string]string `graph:"merge"`
	Cents    int               `graph:"sum"`
	Weight   int               `graph:"reduce=heavier"`
	Paid     bool
	Ordered  time.Time
	Log      []string `graph:"append"`
	Fail     bool     // the node pay fails
}

// Customer buys.
type Customer struct {
	Name string
	Tags []string
}

// Item is one line of an order.
type Item struct {
	Name  string
	Count int
}

// Offer is a question to a person.
type Offer struct {
	Item  string
	Cents int
}

// Verdict is the answer to an Offer.
type Verdict struct {
	OK      bool
	Cents   int
	Note    string
	Details Item
}

// Payment is a signal.
type Payment struct {
	Card string
}

func heavier(old, offered int) int { return max(old, offered) }

var (
	offer = graph.NewQuestion[Offer, Verdict]("offer").Check(func(asked Offer, v Verdict) error {
		if v.Cents > asked.Cents {
			return fmt.Errorf("<%d> is more than %d", v.Cents, asked.Cents)
		}
		return nil
	})
	paid = graph.NewSignal[Payment]("paid")
	gift = graph.NewQuestion[Offer, Verdict]("gift")
)

type shop = graph.Graph[Shop, ShopUpdate]

// newShop returns a graph with questions, a signal, a subgraph, a failure and parallel nodes.
func newShop(tb testing.TB, saver checkpoint.Saver, opts ...graph.Option) *shop {
	tb.Helper()
	wrap := graph.New("wrap", ShopSchema)
	wrap.Node("box", note("box"))
	wrap.Node("ribbon", func(ctx context.Context, s Shop) (ShopUpdate, error) {
		v, err := gift.Ask(ctx, Offer{Item: "ribbon", Cents: 150})
		return ShopUpdate{Log: state.Append("ribbon: " + v.Note)}, err
	}, gift)
	wrap.Edge(graph.Start, "box")
	wrap.Edge("box", "ribbon")
	wrap.Edge("ribbon", graph.End)
	child, err := wrap.Compile(graph.SubgraphOnly())
	if err != nil {
		tb.Fatal(err)
	}

	g := graph.New("shop", ShopSchema)
	g.Node("check", note("check"))
	g.Node("stock", note("stock"))
	g.Node("price", func(context.Context, Shop) (ShopUpdate, error) {
		return ShopUpdate{Cents: state.Add(700), Notes: state.Put("price", "list")}, nil
	})
	g.Node("approve", func(ctx context.Context, s Shop) (ShopUpdate, error) {
		v, err := offer.Ask(ctx, Offer{Item: s.Customer.Name, Cents: s.Cents})
		return ShopUpdate{Log: state.Append(fmt.Sprintf("approved %v: %s", v.OK, v.Note))}, err
	}, offer)
	g.Node("pay", func(ctx context.Context, s Shop) (ShopUpdate, error) {
		if s.Fail {
			return ShopUpdate{}, errors.New("the bank is <closed>")
		}
		p, err := paid.Receive(ctx)
		return ShopUpdate{Paid: state.Set(true), Log: state.Append("paid by " + p.Card)}, err
	}, paid)
	g.Subgraph("wrap", child)
	g.Node("ship", note("ship"))
	g.Edge(graph.Start, "check")
	g.Edge("check", "stock")
	g.Edge("check", "price")
	g.Join([]graph.ID{"stock", "price"}, "approve")
	g.Edge("approve", "pay")
	g.Edge("pay", "wrap")
	g.Edge("wrap", "ship")
	g.Edge("ship", graph.End)
	app, err := g.Compile(append(opts, graph.Saver(saver))...)
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

func note(text string) func(context.Context, Shop) (ShopUpdate, error) {
	return func(context.Context, Shop) (ShopUpdate, error) { return ShopUpdate{Log: state.Append(text)}, nil }
}

// order is an input.
func order(name string) ShopUpdate {
	return state.Build(func(u *ShopUpdate) {
		u.Customer.Set(Customer{Name: name, Tags: []string{"new"}})
		u.Items.Append(Item{"tea", 2}, Item{"a cup", 1})
		u.Weight.Reduce(3)
		u.Ordered.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	})
}

// newSaver returns an empty saver.
func newSaver(tb testing.TB) *memory.Saver {
	tb.Helper()
	s := memory.New()
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// begin starts a thread, which then waits for the answer to an offer.
func begin(tb testing.TB, app *shop, id, name string) graph.Result[Shop] {
	tb.Helper()
	res, err := app.Thread(id).Invoke(tb.Context(), order(name))
	if err != nil || len(res.Questions) != 1 {
		tb.Fatalf("begin %s: got %v, %d questions, %v", id, res.Status, len(res.Questions), err)
	}
	return res
}

// fail starts a thread whose run fails.
func fail(tb testing.TB, app *shop, id string) {
	tb.Helper()
	u := order("Fay")
	u.Fail.Set(true)
	res, err := app.Thread(id).Invoke(tb.Context(), u)
	if err != nil {
		tb.Fatal(err)
	}
	var node *graph.NodeError
	_, err = app.Thread(id).Resume(tb.Context(), offer.Answer(res.Questions[0], Verdict{OK: true}))
	if !errors.As(err, &node) {
		tb.Fatalf("got %v, want an error of a node", err)
	}
}

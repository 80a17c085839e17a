package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// gauge counts what is in progress, and the most that ever was.
type gauge struct {
	mu      sync.Mutex
	n, most map[string]int
}

// node is a node that takes a second.
func (g *gauge) node(name string) node {
	return func(context.Context, Job) (JobUpdate, error) {
		g.mu.Lock()
		g.n[name]++
		g.most[name] = max(g.most[name], g.n[name])
		g.mu.Unlock()
		time.Sleep(time.Second)
		g.mu.Lock()
		g.n[name]--
		g.mu.Unlock()
		return said(name), nil
	}
}

func TestSlotsAndLimitsBoundTheRunsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), &gauge{n: make(map[string]int), most: make(map[string]int)}
		submit(t, s, "orders", ids("order", 30)...)
		submit(t, s, "mails", ids("mail", 30)...)
		w := start(t, s, worker.Options{Slots: 8, Limits: []worker.Limit{{Graph: "mails", Max: 2}}},
			line(t, "orders", s, g.node("orders")), line(t, "mails", s, g.node("mails")))
		time.Sleep(time.Minute)
		for _, id := range append(ids("order", 30), ids("mail", 30)...) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("got the thread %s %s, want it done", id, th.Status)
			}
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if g.most["mails"] != 2 || g.most["orders"] > 8 || g.most["orders"] < 6 {
			t.Errorf("in progress were at most %v, want 2 mails, and up to 8 orders", g.most)
		}
	})
}

// TestGraphsTakeTurns: many due threads of one graph leave slots to the others.
func TestGraphsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), &gauge{n: make(map[string]int), most: make(map[string]int)}
		submit(t, s, "orders", ids("order", 200)...)
		submit(t, s, "mails", ids("mail", 20)...)
		w := start(t, s, worker.Options{Slots: 4}, line(t, "orders", s, g.node("orders")), line(t, "mails", s, g.node("mails")))
		time.Sleep(30 * time.Second) // alone, the orders take 50
		done := 0
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "mail"}) {
			if err != nil {
				t.Fatal(err)
			}
			if th.Status == graph.Done {
				done++
			}
		}
		if done != 20 {
			t.Errorf("got %d of 20 mails done after 30 s, although the graphs take turns", done)
		}
		time.Sleep(time.Hour)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if got := len(w.of(worker.EventEnded)); got != 220 {
			t.Errorf("got %d runs, want 220", got)
		}
	})
}

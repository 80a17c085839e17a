package savers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/savers"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// crowdSteps is how many supersteps each thread of a crowd takes.
const crowdSteps = 20

// BenchmarkCrowd measures the supersteps a second of 1,000 threads that run concurrently. It
// compares them with those of one thread, and of one thread with Async. On SQLite it also compares
// them with the rows a second that the bare driver inserts in grouped transactions.
func BenchmarkCrowd(b *testing.B) {
	for _, where := range venues {
		switch where.name {
		case "file", "sqlite", "sqlite, Normal", "redis":
		default:
			continue
		}
		b.Run(where.name, func(b *testing.B) {
			v := where.open(b)
			best := map[string]float64{}
			for round := 0; b.Loop(); round++ {
				for what, of := range map[string]struct {
					threads, steps int
					d              graph.Durability
				}{"one": {1, 500, graph.Sync}, "async": {1, 5000, graph.Async}, "crowd": {1000, crowdSteps, graph.Sync}} {
					rate := crowd(b, v.saver, fmt.Sprintf("%s %d", what, round), of.threads, of.steps, of.d)
					best[what] = max(best[what], rate)
				}
				if v.group != nil {
					best["bare"] = max(best["bare"], grouped(b, v, round))
				}
			}
			for what, title := range map[string]string{
				"crowd": "steps a second of 1,000 threads at once, compared with one", "async": "steps a second of one thread with Async, compared with Sync",
			} {
				b.ReportMetric(best[what], what+"-steps/s")
				table = append(table, row{saver: where.name, what: title, figure: best[what], base: best["one"], format: "%.0f/s"})
			}
			b.ReportMetric(best["one"], "one-steps/s")
			if v.group != nil {
				b.ReportMetric(best["bare"], "bare-rows/s")
				table = append(table, row{
					saver: where.name, what: "steps a second of 1,000 threads at once, compared with rows of the bare driver in transactions of 256",
					figure: best["crowd"], base: best["bare"], format: "%.0f/s",
				})
			}
		})
	}
}

// crowd runs that many threads concurrently, and returns their total of supersteps a second.
func crowd(tb testing.TB, s checkpoint.Saver, name string, threads, steps int, d graph.Durability) float64 {
	tb.Helper()
	app := must(talker(steps).Compile(graph.Saver(s), graph.MaxSteps(2*steps), d))(tb)
	var all sync.WaitGroup
	start := time.Now()
	for n := range threads {
		all.Go(func() {
			if _, err := app.Thread(fmt.Sprint(name, n)).Invoke(tb.Context(), savers.TalkUpdate{}); err != nil {
				tb.Error(err)
			}
		})
	}
	all.Wait()
	return float64(threads*steps) / time.Since(start).Seconds()
}

// grouped returns how many rows a second the bare driver inserts in grouped transactions.
func grouped(tb testing.TB, v *venue, round int) float64 {
	tb.Helper()
	const groups = 80
	start := time.Now()
	for n := range groups {
		if err := v.group(tb.Context(), (round*groups+n)*groupSize); err != nil {
			tb.Fatal(err)
		}
	}
	return groups * groupSize / time.Since(start).Seconds()
}

// talker is a graph that appends a message of 200 bytes a step.
func talker(steps int) *graph.Builder[savers.Talk, savers.TalkUpdate] {
	message := letters(200)
	g := graph.New("talk", savers.TalkSchema)
	g.Node("node", func(_ context.Context, s savers.Talk) (u savers.TalkUpdate, _ error) {
		u.Step.Set(s.Step + 1)
		u.Messages.Append(message)
		return u, nil
	})
	g.Edge(graph.Start, "node")
	g.Route("node", func(_ context.Context, s savers.Talk) (graph.Next, error) {
		if s.Step < steps {
			return graph.To("node"), nil
		}
		return graph.To(graph.End), nil
	}, "node", graph.End)
	return g
}

package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

const (
	steps  = 1000
	window = 10 // steps measured together: those up to step 10+window/2, and those up to step 1000
)

// counting is a saver that counts the bytes of the payloads it stores.
type counting struct {
	checkpoint.Saver
	bytes int
}

func (c *counting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	for i := range a.Records {
		c.bytes += len(a.Records[i].Payload)
	}
	return c.Saver.Append(ctx, a)
}

// sample is the state of a run at one moment.
type sample struct {
	at     time.Time
	mem    runtime.MemStats
	stored int
}

// growth runs a loop that appends a message of 200 bytes a step. It takes samples at the borders
// of both windows.
type growth struct {
	text    string
	bytes   func() int // stored so far
	samples []sample
	each    []time.Duration // of every step
	last    time.Time
}

// borders are the steps at which the windows begin and end.
var borders = []int{10 - window/2, 10 + window/2, steps - window, steps}

func (g *growth) talk(_ context.Context, s flow.Conversation) (flow.ConversationUpdate, error) {
	now := time.Now()
	if s.Step > 0 {
		g.each = append(g.each, now.Sub(g.last))
	}
	if slices.Contains(borders, s.Step) {
		m := sample{stored: g.bytes()}
		runtime.ReadMemStats(&m.mem)
		m.at = time.Now()
		g.samples = append(g.samples, m)
	}
	var u flow.ConversationUpdate
	u.Step.Set(s.Step + 1)
	u.Messages.Append(flow.Message{ID: fmt.Sprintf("m%04d", s.Step), Role: "assistant", Text: g.text})
	g.last = time.Now()
	return u, nil
}

func (g *growth) next(_ context.Context, s flow.Conversation) (graph.Next, error) {
	if s.Step <= steps {
		return graph.To("talk"), nil
	}
	return graph.To(graph.End), nil
}

// run runs the loop once on a new thread.
func (g *growth) run(b *testing.B, saver checkpoint.Saver, thread string) {
	b.Helper()
	g.samples, g.each = g.samples[:0], g.each[:0]
	build := graph.New("growth", flow.ConversationSchema)
	build.Node("talk", g.talk)
	build.Edge(graph.Start, "talk")
	build.Route("talk", g.next, "talk", graph.End)
	app, err := build.Compile(graph.Saver(saver), graph.MaxSteps(2*steps))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := app.Thread(thread).Invoke(context.Background(), flow.ConversationUpdate{}); err != nil {
		b.Fatal(err)
	}
}

// report reports the cost of a step of each window, as the median over all runs.
func (g *growth) report(b *testing.B, early, late []time.Duration, bytes, allocs [2]float64) {
	b.Helper()
	b.ReportMetric(float64(median(early)), "ns/step-10")
	b.ReportMetric(float64(median(late)), "ns/step-1000")
	b.ReportMetric(bytes[0], "stored-B/step-10")
	b.ReportMetric(bytes[1], "stored-B/step-1000")
	b.ReportMetric(allocs[0], "allocs/step-10")
	b.ReportMetric(allocs[1], "allocs/step-1000")
	b.ReportMetric(0, "ns/op")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// measure runs the loop b.N times.
func (g *growth) measure(b *testing.B, saver checkpoint.Saver) {
	b.Helper()
	var early, late []time.Duration
	var bytes, allocs [2]float64
	for i := 0; b.Loop(); i++ {
		g.run(b, saver, fmt.Sprint("t", i))
		early = append(early, g.each[borders[0]:borders[1]]...)
		late = append(late, g.each[borders[2]-1:borders[3]-1]...)
		for w := range 2 {
			from, to := &g.samples[2*w], &g.samples[2*w+1]
			bytes[w] = float64(to.stored-from.stored) / window
			allocs[w] = float64(to.mem.Mallocs-from.mem.Mallocs) / window
		}
	}
	g.report(b, early, late, bytes, allocs)
}

func BenchmarkGrowth(b *testing.B) {
	text := strings.Repeat("x", 180)
	b.Run("memory", func(b *testing.B) {
		saver := &counting{Saver: memory.New()}
		(&growth{text: text, bytes: func() int { return saver.bytes }}).measure(b, saver)
	})
	b.Run("file", func(b *testing.B) {
		dir := b.TempDir()
		saver, err := file.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		defer saver.Close()
		(&growth{text: text, bytes: func() int { return sizeOf(b, dir) }}).measure(b, saver)
	})
}

// sizeOf returns how many bytes the threads in a folder take.
func sizeOf(b *testing.B, dir string) int {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.saver"))
	if err != nil {
		b.Fatal(err)
	}
	total := 0
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		total += len(bytes.TrimRight(content, "\x00"))
	}
	return total
}

// BenchmarkStep is one superstep of one node with a file saver. The baseline writes and syncs the
// same number of bytes.
func BenchmarkStep(b *testing.B) {
	const size = 283 // bytes that a step of the loop above stores in a file
	b.Run("baseline write and fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		frame := make([]byte, size)
		for b.Loop() {
			if _, err := f.Write(frame); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("graphgen file saver", func(b *testing.B) {
		saver, err := file.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		defer saver.Close()
		left := 0
		g := graph.New("step", flow.ConversationSchema)
		text := strings.Repeat("x", 180)
		g.Node("talk", func(_ context.Context, s flow.Conversation) (u flow.ConversationUpdate, err error) {
			u.Step.Set(s.Step + 1)
			u.Messages.Append(flow.Message{ID: "m0000", Role: "assistant", Text: text})
			return u, nil
		})
		g.Edge(graph.Start, "talk")
		g.Route("talk", func(context.Context, flow.Conversation) (graph.Next, error) {
			if left--; left > 0 {
				return graph.To("talk"), nil
			}
			return graph.To(graph.End), nil
		}, "talk", graph.End)
		left = 1
		app, err := g.Compile(graph.Saver(saver), graph.MaxSteps(1<<40))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		left = b.N
		if _, err := app.Thread("t").Invoke(context.Background(), flow.ConversationUpdate{}); err != nil {
			b.Fatal(err)
		}
	})
}

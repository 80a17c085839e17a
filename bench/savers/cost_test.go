package savers_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// row is a row of the table.
type row struct {
	saver, what  string
	figure, base float64
	format       string // of a figure
	limit        float64
}

// table has the rows of all benchmarks that ran.
var table []row

// TestMain measures with a heap of 64 MB, as a server has one, and prints the table.
func TestMain(m *testing.M) {
	ballast := make([]byte, 64<<20)
	code := m.Run()
	runtime.KeepAlive(ballast)
	if len(table) > 0 {
		fmt.Println("\n| saver | what | figure | baseline | ratio | target | |\n|---|---|---:|---:|---:|---:|---|")
	}
	for _, r := range table {
		fmt.Println(r)
	}
	os.Exit(code)
}

func (r row) String() string {
	figure, beside, ratio, target, verdict := fmt.Sprintf(r.format, r.figure), "", "", "", ""
	if r.base > 0 {
		beside, ratio = fmt.Sprintf(r.format, r.base), fmt.Sprintf("%.2f", r.figure/r.base)
	}
	if r.limit > 0 {
		target, verdict = fmt.Sprintf("%.2f", r.limit), "met"
		if r.figure/r.base > r.limit {
			verdict = "**missed**"
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", r.saver, r.what, figure, beside, ratio, target, verdict)
}

const (
	micros = "%.1f µs"
	bytes  = "%.0f B"
)

// BenchmarkSavers fills the table. Each round commits step n of four threads and has the bare
// driver write the same amount. The writes alternate, so that both sides meet the same load of
// the machine. A figure is the least median of all rounds, because other work on the machine only
// ever adds.
func BenchmarkSavers(b *testing.B) {
	for _, where := range venues {
		b.Run(where.name, func(b *testing.B) {
			v := where.open(b)
			if v.stored != nil {
				measureSize(b, where.name, v)
			}
			measureAppend(b, where.name, v)
		})
	}
}

// appendLimits are the limits on the time of an append, divided by that of one write of the bare
// driver. The default is 1.25.
var appendLimits = map[string]float64{"file": 1.1, "file, NoSync": 4, "sqlite": 1.3, "sqlite, Normal": 1.6, "redis": 1.6}

// sizeLimits are the limits on the stored bytes for each byte of messages, headers and snapshots
// included.
var sizeLimits = map[string]float64{"file": 1.6, "sqlite": 1.6}

// measureSize measures the stored bytes of loops of 1,000 steps, and the time to load their
// heads.
func measureSize(b *testing.B, name string, v *venue) {
	b.Helper()
	const steps = 1000
	for _, l := range []struct {
		what, thread string
		run          func(testing.TB, checkpoint.Saver, string, int)
		size, limit  float64
	}{
		{"stored by 1,000 messages of 200 B", "talk", talk, 200, sizeLimits[name]},
		{"stored by 1,000 texts of 10 kB, each in place of the last", "rewrite", rewrite, 10_000, 0},
	} {
		before := must(v.stored())(b)
		l.run(b, v.saver, l.thread, steps)
		after := must(v.stored())(b)
		table = append(table, row{saver: name, what: l.what, figure: float64(after - before), base: steps * l.size, format: bytes, limit: l.limit})
	}
}

// lengths are the steps that are measured.
var lengths = []int{10, 100, 1000, 10_000}

// turn is how many steps of one short thread are measured before a new thread replaces it.
const turn = 10

// measureAppend measures b.N rounds.
func measureAppend(b *testing.B, name string, v *venue) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	written := 0
	if v.write != nil {
		for ; written < 1000; written++ {
			if err := v.write(ctx, written); err != nil {
				b.Fatal(err)
			}
		}
		measureRead(ctx, b, name, v)
	}
	lines, appends, bare := make([]*line, len(lengths)), make([][]time.Duration, len(lengths)), []time.Duration(nil)
	for round := 0; b.Loop(); round++ {
		for i, n := range lengths {
			if lines[i] == nil || n <= 10*turn {
				lines[i] = must(begin(ctx, v.saver, fmt.Sprintf("step %d, round %d", n, round), n-turn/2))(b)
			}
		}
		for t := range turn {
			for i := range len(lines) + 1 {
				at := (i + t) % (len(lines) + 1) // each follows each of the others in turn
				d, err := v.one(ctx, lines, at, &written)
				switch {
				case err != nil:
					b.Fatal(err)
				case at < len(lines):
					appends[at] = append(appends[at], d)
				case v.write != nil:
					bare = append(bare, d)
				}
			}
		}
	}
	tabulate(b, name, appends, bare)
}

// one commits the next step of a line and returns the time that took. After the last line, it
// writes with the bare driver.
func (v *venue) one(ctx context.Context, lines []*line, at int, written *int) (time.Duration, error) {
	start := time.Now()
	var err error
	switch {
	case at < len(lines):
		err = lines[at].commit(ctx)
	case v.write != nil:
		err = v.write(ctx, *written)
		*written++
	}
	return time.Since(start), err
}

// tabulate adds the rows of appends.
func tabulate(b *testing.B, name string, appends [][]time.Duration, bare []time.Duration) {
	b.Helper()
	first := least(appends[0])
	for i, n := range lengths {
		r := row{saver: name, what: fmt.Sprintf("append of step %d, compared with step 10", n), figure: least(appends[i]), base: first, format: micros, limit: 1.2}
		b.ReportMetric(r.figure, fmt.Sprintf("µs/step-%d", n))
		if n > lengths[0] {
			table = append(table, r)
		}
	}
	if bare != nil {
		r := row{saver: name, what: "append of step 1,000, compared with one write by the bare driver", figure: least(appends[2]), base: least(bare), format: micros,
			limit: cmp.Or(appendLimits[name], 1.25)}
		b.ReportMetric(r.base, "µs/bare")
		table = append(table, r)
	}
}

// measureRead measures loading the heads of two threads. The first is a list of messages; the
// bare driver reads as many rows for comparison. The second is a text that each step rewrote.
func measureRead(ctx context.Context, b *testing.B, name string, v *venue) {
	b.Helper()
	var messages, text, bare []time.Duration
	for range 40 {
		for thread, into := range map[string]*[]time.Duration{"talk": &messages, "rewrite": &text} {
			start := time.Now()
			chain, err := v.saver.Load(ctx, checkpoint.Ref{Thread: thread})
			*into = append(*into, time.Since(start))
			if err != nil || chain.Empty() || thread == "talk" && chain.Chained+1 < 1000 {
				b.Fatalf("loaded %d records of %s, %v; want a chain", chain.Chained+1, thread, err)
			}
		}
		start := time.Now()
		n, err := v.read(ctx)
		bare = append(bare, time.Since(start))
		if err != nil || n != 1000 {
			b.Fatalf("read %d rows, %v; want 1000", n, err)
		}
	}
	table = append(table,
		row{saver: name, what: "load of 1,000 messages, compared with 1,000 rows by the bare driver", figure: median(messages), base: median(bare), format: micros},
		row{saver: name, what: "load of a text written 1,000 times", figure: median(text), format: micros})
}

// least returns the least of the medians of rounds.
func least(d []time.Duration) float64 {
	figure := math.Inf(1)
	for round := range slices.Chunk(d, turn) {
		figure = min(figure, median(round))
	}
	return figure
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / float64(time.Microsecond)
}

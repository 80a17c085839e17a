package savers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/bench/savers"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// BenchmarkLarge measures a step that sets a value of 1 MB, compared with a write and sync of 1
// MB.
func BenchmarkLarge(b *testing.B) {
	const steps = 20
	for _, where := range venues {
		switch where.name {
		case "file", "sqlite":
		default:
			continue
		}
		b.Run(where.name, func(b *testing.B) {
			v := where.open(b)
			text := letters(1 << 20)
			g := graph.New("large", savers.PageSchema)
			g.Node("node", func(_ context.Context, s savers.Page) (u savers.PageUpdate, _ error) {
				u.Step.Set(s.Step + 1)
				u.Text.Set(text)
				return u, nil
			})
			g.Edge(graph.Start, "node")
			g.Route("node", func(_ context.Context, s savers.Page) (graph.Next, error) {
				if s.Step < steps {
					return graph.To("node"), nil
				}
				return graph.To(graph.End), nil
			}, "node", graph.End)
			app := must(g.Compile(graph.Saver(v.saver), graph.MaxSteps(2*steps)))(b)
			f := closes(b, must(os.Create(filepath.Join(b.TempDir(), "bare")))(b))
			step, bare := time.Hour, time.Hour
			for round := 0; b.Loop(); round++ {
				start := time.Now()
				if _, err := app.Thread(fmt.Sprint("large ", round)).Invoke(b.Context(), savers.PageUpdate{}); err != nil {
					b.Fatal(err)
				}
				step = min(step, time.Since(start)/steps)
				start = time.Now()
				for range steps {
					if _, err := f.WriteString(text); err != nil {
						b.Fatal(err)
					}
					if err := f.Sync(); err != nil {
						b.Fatal(err)
					}
				}
				bare = min(bare, time.Since(start)/steps)
			}
			table = append(table, row{
				saver: where.name, what: "step that sets 1 MB, compared with a write and sync of 1 MB",
				figure: float64(step.Microseconds()), base: float64(bare.Microseconds()), format: micros, limit: 3,
			})
		})
	}
}

package sqltest

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// BenchmarkAppend commits one superstep of 200 bytes to a thread that has n; insert does one bare
// INSERT of as many bytes.
func BenchmarkAppend(b *testing.B, dsn string, open func(ctx context.Context, dsn string, conns int) (checkpoint.Saver, error), insert func() error) {
	s, err := open(b.Context(), dsn, 2)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }() // the benchmark is over
	for _, n := range []int{10, 100, 1000, 10_000} {
		r, err := tryOpening(b.Context(), s, fmt.Sprint(n), checkpoint.ID{})
		for i := 0; err == nil && i < n; i++ {
			err = r.commit(b.Context(), "")
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("append/n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := r.commit(b.Context(), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare insert", func(b *testing.B) {
		for b.Loop() {
			if err := insert(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

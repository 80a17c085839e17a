package graphotel_test

import (
	"encoding/hex"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// metric flushes p, and returns the newest metric with a name.
func (p *process) metric(tb testing.TB, name string) *metrics.Metric {
	tb.Helper()
	p.flush(tb)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	m := p.r.metrics[name]
	if m == nil {
		tb.Fatalf("there is no metric %q", name)
	}
	return m
}

// total returns the sum of all points of a metric with integers.
func total(m *metrics.Metric) (n int64) {
	for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
		n += p.GetAsInt()
	}
	return n
}

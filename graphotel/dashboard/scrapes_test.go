package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	client "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

//go:generate go tool graphgen -type=Order

// Order is the state of a graph.
type Order struct{ Paid bool }

var errBroken = errors.New("it broke")

// scrapes are the series that Prometheus gets, with two samples each.
type scrapes struct {
	series map[string]*promql.Series // by their labels
	ended  time.Time                 // of the last scrape
}

// nameLabel is the label that has the name of a series.
const nameLabel = "__name__"

// scrapeInterval is the time between the two samples of a series.
const scrapeInterval = 30 * time.Second

// scraped returns the series of a program whose savers and nodes succeed and fail, so that every
// metric has a value. The program does the same before each scrape.
func scraped(t *testing.T) *scrapes {
	t.Helper()
	registry := prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		t.Fatal(err)
	}
	tel, err := graphotel.New(graphotel.MeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	saver := tel.Saver(memory.New())
	if _, err := tel.WatchThreads(saver); err != nil {
		t.Fatal(err)
	}
	operator := &operate.Operator{Saver: saver}
	if _, err := tel.WatchFleet(operator, "orders"); err != nil {
		t.Fatal(err)
	}
	if err := operator.Pause(t.Context(), operate.Target{Queue: "gpu"}, ""); err != nil { // so that the queue is known
		t.Fatal(err)
	}
	b := graph.New("orders", OrderSchema)
	b.Node("check", func(context.Context, Order) (OrderUpdate, error) { return OrderUpdate{}, nil })
	b.Node("pay", func(context.Context, Order) (u OrderUpdate, err error) { return u, errBroken }, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Chain(graph.Start, "check", "pay", graph.End)
	g, err := b.Compile(append(tel.Options(), graph.Saver(saver))...)
	if err != nil {
		t.Fatal(err)
	}
	s := &scrapes{series: make(map[string]*promql.Series), ended: time.Unix(1_800_000_000, 0)}
	for _, thread := range []string{"t", "u"} {
		tel.OnEvent(nil)(worker.Event{Kind: worker.EventClaimed, Graph: "orders", Waited: time.Second})
		if _, err := g.Thread(thread).Invoke(t.Context(), OrderUpdate{}); err == nil {
			t.Fatal("the run succeeded")
		}
		if err := saver.Delete(t.Context(), ""); err == nil {
			t.Fatal("a thread without a name was deleted")
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		s.ended = s.ended.Add(scrapeInterval)
		for _, f := range families {
			s.add(f)
		}
	}
	return s
}

// add adds the samples of a metric.
func (s *scrapes) add(f *client.MetricFamily) {
	for _, m := range f.Metric {
		switch h := m.Histogram; {
		case h != nil:
			for _, b := range h.Bucket {
				s.sample(f.GetName()+"_bucket", m, float64(b.GetCumulativeCount()), "le", fmt.Sprint(b.GetUpperBound()))
			}
			s.sample(f.GetName()+"_bucket", m, float64(h.GetSampleCount()), "le", "+Inf")
			s.sample(f.GetName()+"_count", m, float64(h.GetSampleCount()))
			s.sample(f.GetName()+"_sum", m, h.GetSampleSum())
		default:
			s.sample(f.GetName(), m, m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
}

// sample adds a sample of a series with the labels of m and more.
func (s *scrapes) sample(name string, m *client.Metric, value float64, more ...string) {
	pairs := append([]string{nameLabel, name}, more...)
	for _, l := range m.Label {
		pairs = append(pairs, l.GetName(), l.GetValue())
	}
	of := labels.FromStrings(pairs...)
	one := s.series[of.String()]
	if one == nil {
		one = &promql.Series{Metric: of}
		s.series[of.String()] = one
	}
	one.Floats = append(one.Floats, promql.FPoint{T: s.ended.UnixMilli(), F: value})
}

// labelled reports whether a series with a name has a label.
func (s *scrapes) labelled(name, label string) bool {
	for _, one := range s.series {
		if one.Metric.Get(nameLabel) == name && one.Metric.Has(label) {
			return true
		}
	}
	return false
}

// Querier implements storage.Queryable.
func (s *scrapes) Querier(int64, int64) (storage.Querier, error) { return s, nil }

// Select implements storage.Querier.
func (s *scrapes) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &found{}
	for _, one := range s.series {
		matches := func(m *labels.Matcher) bool { return m.Matches(one.Metric.Get(m.Name)) }
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !matches(m) }) {
			set.all = append(set.all, promql.NewStorageSeries(*one))
		}
	}
	return set
}

// LabelValues implements storage.Querier. Queries do not call it.
func (s *scrapes) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// LabelNames implements storage.Querier. Queries do not call it.
func (s *scrapes) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// Close implements storage.Querier.
func (s *scrapes) Close() error { return nil }

// found is a set of series.
type found struct {
	all []storage.Series
	at  int
}

// Next implements storage.SeriesSet.
func (f *found) Next() bool { f.at++; return f.at <= len(f.all) }

// At implements storage.SeriesSet.
func (f *found) At() storage.Series { return f.all[f.at-1] }

// Err implements storage.SeriesSet.
func (f *found) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (f *found) Warnings() annotations.Annotations { return nil }

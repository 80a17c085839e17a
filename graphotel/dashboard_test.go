package graphotel_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// dashboard is the part of dashboard.json that the test checks.
type dashboard struct {
	Panels []struct {
		ID          int
		Type, Title string
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

// exported returns the series that Prometheus gets, each with the names of its labels. Savers and
// nodes succeed and fail, so that every metric has a value.
func exported(t *testing.T) map[string]map[string]bool {
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
	s := tel.Saver(memory.New())
	if _, err := tel.WatchThreads(s); err != nil {
		t.Fatal(err)
	}
	b := graph.New("orders", JobSchema)
	b.Node("pay", func(context.Context, Job) (u JobUpdate, err error) { return u, errBroken }, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Node("check", say("checked"))
	b.Chain(graph.Start, "check", "pay", graph.End)
	g, err := b.Compile(append(tel.Options(), graph.Saver(s))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Thread("t").Invoke(t.Context(), JobUpdate{}); err == nil {
		t.Fatal("the run succeeded")
	}
	if err := s.Delete(t.Context(), ""); err == nil {
		t.Fatal("a thread without a name was deleted")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]map[string]bool)
	for _, f := range families {
		names := []string{f.GetName()}
		if f.GetType().String() == "HISTOGRAM" {
			names = []string{f.GetName() + "_bucket", f.GetName() + "_count", f.GetName() + "_sum"}
		}
		for _, name := range names {
			labels := map[string]bool{"le": strings.HasSuffix(name, "_bucket")}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					labels[l.GetName()] = true
				}
			}
			series[name] = labels
		}
	}
	return series
}

var (
	// selector is the name of a series, with its matchers, or without any.
	selector = regexp.MustCompile(`\b(graphgen_[a-z_]+)(?:\{([^}]*)\})?\s*(?:\[|\)|,|$)`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|=)\s*"[^"]*"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{([^}]*)\}\}`)
)

// query returns the series of a PromQL query, and the labels that it uses of them.
func query(expr string) (series string, labels []string) {
	groups := grouping.FindAllStringSubmatch(expr, -1)
	for _, g := range groups {
		for l := range strings.SplitSeq(g[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	found := selector.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1)
	if len(found) != 1 {
		return "", nil
	}
	for _, m := range matcher.FindAllStringSubmatch(found[0][2], -1) {
		labels = append(labels, m[1])
	}
	return found[0][1], labels
}

func TestDashboardUsesExportedSeries(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	series := exported(t)
	used, ids := make(map[string]bool), make(map[int]bool)
	check := func(where, expr string, more ...string) {
		name, labels := query(expr)
		if series[name] == nil {
			t.Errorf("%s: the query %s has series %q, which is not among %q", where, expr, name, slices.Sorted(maps.Keys(series)))
			return
		}
		used[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
		for _, l := range append(labels, more...) {
			if !series[name][l] {
				t.Errorf("%s: the query %s has label %q, which %s has not", where, expr, l, name)
			}
		}
		if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
			t.Errorf("%s: the query %s has brackets that do not match", where, expr)
		}
	}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			var named []string
			for _, m := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				named = append(named, m[1])
				if _, labels := query(target.Expr); !slices.Contains(labels, m[1]) {
					t.Errorf("panel %q: the legend has %q, which the query leaves out", p.Title, m[1])
				}
			}
			check("panel "+p.Title, target.Expr, named...)
		}
	}
	for _, v := range d.Templating.List {
		if inside, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			name, label, _ := strings.Cut(strings.TrimSuffix(inside, ")"), ", ")
			check("variable "+v.Name, name, label)
		}
	}
	for name := range series {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if strings.HasPrefix(name, "graphgen_") && !used[base] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestREADMEListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := receive(t).process(t)
	if _, err := p.WatchThreads(memory.New()); err != nil {
		t.Fatal(err)
	}
	ends(t, graph.Waiting)(questioner(t, p, memory.New()).Thread("t").Invoke(t.Context(), JobUpdate{}))
	p.flush(t)
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for name := range p.r.metrics {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("the README does not list %s", name)
		}
	}
	if len(p.r.metrics) < 8 {
		t.Errorf("got %d metrics, want those of runs", len(p.r.metrics))
	}
}

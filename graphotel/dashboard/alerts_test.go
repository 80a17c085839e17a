package dashboard_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

// alerts returns the rules of alerts.yaml.
func alerts(t *testing.T) (all []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile("alerts.yaml", false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// newEngine returns an engine for queries.
func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 20, Timeout: time.Minute, Parser: promQL, LookbackDelta: 5 * time.Minute})
}

// TestAlertsNameExportedSeries checks the names, matchers and groups of each expression.
func TestAlertsNameExportedSeries(t *testing.T) {
	s := scraped(t)
	for _, rule := range alerts(t) {
		tree, err := promQL.ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		var names, groups []string
		has := func(name, label string) {
			if !s.labelled(name, label) {
				t.Errorf("%s: no series %q has the label %q", rule.Alert, name, label)
			}
		}
		parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.VectorSelector:
				names = append(names, n.Name)
				for _, m := range n.LabelMatchers {
					has(n.Name, m.Name)
				}
			case *parser.AggregateExpr:
				groups = append(groups, n.Grouping...)
			}
			return nil
		})
		for _, name := range names {
			for _, label := range groups {
				has(name, label)
			}
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%s has no summary, no action or no severity", rule.Alert)
		}
	}
}

// steps are the values of a series, one a minute.
type steps func(minute int) float64

// always is the same value.
func always(v float64) steps { return func(int) float64 { return v } }

// per grows by v each minute.
func per(v float64) steps { return func(minute int) float64 { return v * float64(minute) } }

// history returns the series of half an hour. A name is one with labels, such as up{job="x"}.
func history(t *testing.T, all map[string]steps) *scrapes {
	t.Helper()
	s := &scrapes{series: make(map[string]*promql.Series), ended: time.Unix(1_800_000_000, 0)}
	for name, values := range all {
		of, err := promQL.ParseMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		one := &promql.Series{Metric: of}
		for minute := range 31 {
			at := s.ended.Add(time.Duration(minute-30) * time.Minute)
			one.Floats = append(one.Floats, promql.FPoint{T: at.UnixMilli(), F: values(minute)})
		}
		s.series[name] = one
	}
	return s
}

// firing evaluates the rules each minute of half an hour, as Prometheus does. It returns the
// summaries of the alerts that fire then: those whose expression has had the same series for as
// long as the rule says.
func firing(t *testing.T, s *scrapes) map[string]string {
	t.Helper()
	engine, found := newEngine(), make(map[string]string)
	query := func(ctx context.Context, q string, at time.Time) (promql.Vector, error) {
		instant, err := engine.NewInstantQuery(ctx, s, nil, q, at)
		if err != nil {
			return nil, err
		}
		defer instant.Close()
		return instant.Exec(ctx).Vector()
	}
	for _, r := range alerts(t) {
		since := make(map[string]time.Time) // by the labels of the result
		for minute := range 31 {
			at := s.ended.Add(time.Duration(minute-30) * time.Minute)
			got, err := query(t.Context(), r.Expr, at)
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
			active := make(map[string]time.Time)
			for _, sample := range got {
				of := sample.Metric.String()
				if active[of] = since[of]; since[of].IsZero() {
					active[of] = at
				}
				if minute == 30 && at.Sub(active[of]) >= time.Duration(r.For) {
					found[r.Alert] = expand(t, &r, sample, query)
				}
			}
			since = active
		}
	}
	return found
}

// expand returns the summary of an alert.
func expand(t *testing.T, r *rulefmt.Rule, sample promql.Sample, query template.QueryFunc) string {
	t.Helper()
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	defs := "{{$labels := .Labels}}{{$value := .Value}}"
	text, err := template.NewTemplateExpander(t.Context(), defs+r.Annotations["summary"], r.Alert, data, 0, query, nil, nil).Expand()
	if err != nil {
		t.Errorf("%s: %v", r.Alert, err)
	}
	return text
}

// TestAlertsFire evaluates each rule in the engine of Prometheus: on a fleet that works, and on a
// fleet with a fault of each kind.
func TestAlertsFire(t *testing.T) {
	works := map[string]steps{
		`graphgen_due_age_seconds{graphgen_graph="orders"}`:                                                                  always(2),
		`graphgen_due_age_seconds{graphgen_queue="gpu"}`:                                                                     always(0),
		`graphgen_due_threads{graphgen_queue="gpu"}`:                                                                         always(0),
		`graphgen_workers{graphgen_graph="orders"}`:                                                                          always(2),
		`graphgen_workers{graphgen_queue="gpu"}`:                                                                             always(0),
		`graphgen_worker_slots{graphgen_graph="orders",graphgen_slot_state="free"}`:                                          always(3),
		`graphgen_start_latency_seconds_bucket{graphgen_graph="orders",le="1"}`:                                              per(60),
		`graphgen_start_latency_seconds_bucket{graphgen_graph="orders",le="60"}`:                                             per(60),
		`graphgen_start_latency_seconds_bucket{graphgen_graph="orders",le="+Inf"}`:                                           per(60),
		`graphgen_threads{graphgen_graph="orders",graphgen_thread_status="failed"}`:                                          always(0),
		`graphgen_task_duration_seconds_count{graphgen_graph="orders",graphgen_node="pay",graphgen_task_outcome="done"}`:     per(60),
		`graphgen_task_duration_seconds_count{graphgen_graph="orders",graphgen_node="pay",graphgen_task_outcome="retrying"}`: per(6),
		`graphgen_inbox_messages{graphgen_graph="orders",graphgen_message_kind="input"}`:                                     always(10),
		`graphgen_saver_duration_seconds_count{graphgen_saver_operation="append",error_type="unavailable"}`:                  always(5),
	}
	if got := firing(t, history(t, works)); len(got) > 0 {
		t.Errorf("a fleet that works: got %v", got)
	}
	once := func(v float64, from, until int) steps {
		return func(minute int) float64 {
			if minute >= from && minute < until {
				return v
			}
			return 0
		}
	}
	for alert, c := range map[string]struct {
		fault   map[string]steps
		summary string
	}{
		"GraphgenDueTooLong":         {map[string]steps{`graphgen_due_age_seconds{graphgen_graph="orders"}`: per(60)}, "orders: no worker takes what has been due for 30m"},
		"GraphgenQueueWithoutWorker": {map[string]steps{`graphgen_due_age_seconds{graphgen_queue="gpu"}`: always(20)}, "queue gpu: tasks wait"},
		"GraphgenNoFreeSlot":         {map[string]steps{`graphgen_worker_slots{graphgen_graph="orders",graphgen_slot_state="free"}`: always(0)}, "orders: all slots"},
		"GraphgenSlowStart":          {map[string]steps{`graphgen_start_latency_seconds_bucket{graphgen_graph="orders",le="1"}`: per(30)}, "orders: 5 % of the threads wait longer than 54"},
		"GraphgenThreadsGaveUp":      {map[string]steps{`graphgen_threads{graphgen_graph="orders",graphgen_thread_status="failed"}`: always(4)}, "orders: 4 threads"},
		"GraphgenNodeFails": {map[string]steps{
			`graphgen_task_duration_seconds_count{graphgen_graph="orders",graphgen_node="pay",graphgen_task_outcome="retrying"}`: per(240),
		}, "orders: 80% of the attempts of node pay"},
		"GraphgenMailWaits":  {map[string]steps{`graphgen_inbox_messages{graphgen_graph="orders",graphgen_message_kind="input"}`: always(1500)}, "orders: 1500 messages (input)"},
		"GraphgenSaverFails": {map[string]steps{`graphgen_saver_duration_seconds_count{graphgen_saver_operation="append",error_type="unavailable"}`: per(60)}, "1 calls"},
	} {
		t.Run(alert, func(t *testing.T) {
			series := maps.Clone(works)
			maps.Copy(series, c.fault)
			got := firing(t, history(t, series))
			if names := slices.Collect(maps.Keys(got)); !slices.Equal(names, []string{alert}) || !strings.HasPrefix(got[alert], c.summary) {
				t.Errorf("got %v, want only the alert with %q", got, c.summary)
			}
		})
	}
	none := maps.Clone(works) // no worker has the option Register
	none[`graphgen_due_age_seconds{graphgen_queue="gpu"}`] = always(20)
	none[`graphgen_workers{graphgen_graph="orders"}`] = always(0)
	none[`graphgen_worker_slots{graphgen_graph="orders",graphgen_slot_state="free"}`] = always(0)
	if got := firing(t, history(t, none)); len(got) > 0 {
		t.Errorf("no registered workers: got %v", got)
	}
	paused := maps.Clone(works)
	paused[`graphgen_due_threads{graphgen_queue="gpu"}`] = always(2)
	if got := firing(t, history(t, paused)); len(got) > 0 {
		t.Errorf("a paused queue: got %v", got)
	}
	short := maps.Clone(works)
	short[`graphgen_due_age_seconds{graphgen_graph="orders"}`] = once(90, 26, 29)
	if got := firing(t, history(t, short)); len(got) > 0 {
		t.Errorf("a short delay: got %v", got)
	}
	if len(alerts(t)) != 8 {
		t.Errorf("there are %d alerts; add a fault for each to this test", len(alerts(t)))
	}
}

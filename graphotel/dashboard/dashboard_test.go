package dashboard_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
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

var (
	legend  = regexp.MustCompile(`\{\{([^}]*)\}\}`)
	grafana = strings.NewReplacer("$__rate_interval", "1m", "$graph", "orders")
	promQL  = parser.NewParser(parser.Options{})
)

// checker runs the queries of a dashboard.
type checker struct {
	*scrapes

	engine *promql.Engine
	used   map[string]bool // the names of the series in queries
}

// run runs a query at the end of the last scrape. All values of the result must be numbers, and
// all samples must have the labels that the legend shows.
func (c *checker) run(t *testing.T, expr, format string) {
	t.Helper()
	expr = grafana.Replace(expr)
	tree, err := promQL.ParseExpr(expr)
	if err != nil {
		t.Errorf("the query %s: %v", expr, err)
		return
	}
	c.labels(t, tree)
	query, err := c.engine.NewInstantQuery(t.Context(), c, nil, expr, c.ended)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil || len(vector) == 0 || len(result.Warnings) > 0 {
		t.Errorf("the query %s: got %v, %v and warnings %v; want a vector", expr, result, err, result.Warnings)
	}
	for _, sample := range vector {
		if math.IsNaN(sample.F) || math.IsInf(sample.F, 0) {
			t.Errorf("the query %s: got %s", expr, sample)
		}
		for _, l := range legend.FindAllStringSubmatch(format, -1) {
			if !sample.Metric.Has(l[1]) {
				t.Errorf("the query %s: got %s, without the %q of the legend", expr, sample.Metric, l[1])
			}
		}
	}
}

// labels checks that a query has one series, with all labels of its matchers and groups. Without
// the label of a matcher, a series can match too, and a group is larger.
func (c *checker) labels(t *testing.T, tree parser.Expr) {
	t.Helper()
	var names, wanted []string
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			names = append(names, n.Name)
			for _, m := range n.LabelMatchers {
				wanted = append(wanted, m.Name)
			}
		case *parser.AggregateExpr:
			wanted = append(wanted, n.Grouping...)
		}
		return nil
	})
	if len(names) != 1 {
		t.Fatalf("the query %s has the series %q, want one", tree, names)
	}
	c.used[names[0]] = true
	for _, l := range wanted {
		if !c.labelled(names[0], l) {
			t.Errorf("the query %s has label %q, which no series %q has", tree, l, names[0])
		}
	}
}

func TestDashboardShowsExportedSeries(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	c := checker{scraped(t), newEngine(), make(map[string]bool)}
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		t.Run(p.Title, func(t *testing.T) {
			if ids[p.ID] {
				t.Errorf("two panels have the id %d", p.ID)
			}
			ids[p.ID] = true
			if p.Type != "row" && len(p.Targets) == 0 {
				t.Error("there is no query")
			}
			for _, target := range p.Targets {
				c.run(t, target.Expr, target.LegendFormat)
			}
		})
	}
	for _, v := range d.Templating.List {
		if inside, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			name, label, _ := strings.Cut(strings.TrimSuffix(inside, ")"), ", ")
			if label == "" || !c.labelled(name, label) {
				t.Errorf("variable %s: no series %q has label %q", v.Name, name, label)
			}
		}
	}
	for _, one := range c.series {
		name := one.Metric.Get(nameLabel)
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if strings.HasPrefix(name, "graphgen_") && !c.used[base] && !c.used[base+"_bucket"] && !c.used[base+"_count"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

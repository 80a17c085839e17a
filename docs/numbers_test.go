package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// units are the constants of package time that constants of the code name.
var units = strings.NewReplacer(
	"time.Microsecond", "1000", "time.Millisecond", "1000000", "time.Second", "1000000000", "time.Minute", "60000000000", "time.Hour", "3600000000000",
)

// constantOf returns the value of a constant in a folder of Go files. For the name of a field it
// returns the default, which a call of cmp.Or in the folder gives to a zero field.
func constantOf(t *testing.T, folder, name string) int64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no Go files: %v", folder, err)
	}
	exprs := make(map[string]ast.Expr)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if i < len(n.Values) {
						exprs[id.Name] = n.Values[i]
					}
				}
			case *ast.CallExpr:
				if len(n.Args) == 2 && types.ExprString(n.Fun) == "cmp.Or" {
					_, field, _ := strings.Cut(types.ExprString(n.Args[0]), ".")
					exprs["default of "+field] = n.Args[1]
				}
			}
			return true
		})
	}
	expr := exprs[name]
	if expr == nil {
		t.Fatalf("%s has no constant %s", folder, name)
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, units.Replace(types.ExprString(expr)))
	if err != nil {
		t.Fatalf("%s: %s: %v", folder, name, err)
	}
	n, ok := constant.Int64Val(constant.ToInt(v.Value))
	if !ok {
		t.Fatalf("%s: %s is %v, want a number", folder, name, v.Value)
	}
	return n
}

// count writes 1000 as "1,000".
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(n int64) string { return strconv.FormatInt(n/int64(time.Second), 10) }
func minutes(n int64) string { return strconv.FormatInt(n/int64(time.Minute), 10) }
func hours(n int64) string   { return strconv.FormatInt(n/int64(time.Hour), 10) }
func days(n int64) string    { return strconv.FormatInt(n/int64(24*time.Hour), 10) }
func mebi(n int64) string    { return strconv.FormatInt(n>>20, 10) }
func gibi(n int64) string    { return strconv.FormatInt(n>>30, 10) }

// TestNumbersInProseAreThoseOfTheCode compares numbers of pages with the constants and defaults
// that they describe. %s in a text is the number.
func TestNumbersInProseAreThoseOfTheCode(t *testing.T) {
	for _, c := range []struct {
		page, text, folder, name string
		form                     func(int64) string
	}{
		{"howto/worker.md", "lists at most %s threads", "runtime/worker", "passRows", count},
		{"howto/worker.md", "they prune or remove: %s by default", "runtime/worker", "default of Rate", count},
		{"howto/scale.md", "They ask the shard again every %s seconds", "savers/shards", "rest", seconds},
		{"howto/scale.md", "A process uses a layout for %s seconds", "savers/shards", "fresh", seconds},
		{"howto/scale.md", "each phase of a change waits for %s", "savers/shards", "settled", seconds},
		{"howto/scale.md", "After %s seconds the next call, or a worker, ends what a dead mover has", "savers/rows", "maxTransit", seconds},
		{"howto/worker.md", "they pause for %s minutes (`Retention.Every`)", "runtime/worker", "default of Every", minutes},
		{"howto/worker.md", "The first pause is %s s", "runtime/worker", "default of Retry.Base", seconds},
		{"howto/worker.md", "as long, up to %s minutes", "runtime/worker", "default of Retry.Max", minutes},
		{"howto/worker.md", "(`DrainTimeout`, %s s)", "runtime/worker", "default of DrainTimeout", seconds},
		{"howto/worker.md", "(`CancelTimeout`, %s s)", "runtime/worker", "default of CancelTimeout", seconds},
		{"howto/queues.md", "shows no sign of life for %s seconds", "runtime/worker", "reserve", seconds},
		{"howto/resume.md", "%s seconds", "runtime/checkpoint", "DefaultLease", seconds},
		{"howto/inspect.md", "lists at most %s threads", "inspect", "scanSize", count},
		{"howto/inspect.md", "looks at the tasks of at most %s threads", "inspect", "mostReads", count},
		{"howto/inspect.md", "The counts of due threads read %s threads of each graph", "inspect", "loadSize", count},
		{"howto/inspect.md", "`Options.MaxDownload`, by default %s GiB", "inspect", "default of MaxDownload", gibi},
		{"howto/schedule.md", "the default is %s hours", "runtime/schedule", "defaultCatchUp", hours},
		{"howto/schedule.md", "begins at most %s seconds after the end of the other firing", "runtime/schedule", "mostPoll", seconds},
		{"graph.md", "Each result counts %s bytes in addition", "runtime/graph", "cachedOverhead", count},
		{"graph.md", "1 to %s bytes", "runtime/checkpoint", "MaxThread", count},
		{"state.md", "%s bytes of memory for each input byte", "runtime/wire", "memoryFactor", count},
		{"state.md", "for each input byte, plus %s MiB", "runtime/wire", "memorySlack", mebi},
		{"savers.md", "payloads of %s bytes or more", "savers/compress", "minSize", count},
		{"howto/inspect.md", "the first %s threads that it reads", "inspect", "pulseSize", count},
		{"howto/memory.md", "for %s days (`store.OnceFor`)", "runtime/store", "OnceFor", days},
		{"store.md", "for %s days (`store.OnceFor`)", "runtime/store", "OnceFor", days},
		{"store.md", "%s operations (`store.MaxOps`)", "runtime/store", "MaxOps", count},
		{"store.md", "%s items (`store.MaxPage`)", "runtime/store", "MaxPage", count},
		{"protocol.md", "For %s seconds (`graph.Lease`)", "runtime/checkpoint", "DefaultLease", seconds},
		{"protocol.md", "of the newest %s that were taken or refused", "runtime/checkpoint", "KeepTaken", count},
		{"howto/submit.md", "%s messages after it has begun", "runtime/checkpoint", "KeepTaken", count},
	} {
		page := strings.Join(strings.Fields(string(read(t, c.page))), " ")
		want := c.text
		if strings.Contains(want, "%s") {
			want = fmt.Sprintf(c.text, c.form(constantOf(t, c.folder, c.name)))
		} else if n := constantOf(t, c.folder, c.name); n != int64(time.Second) {
			t.Errorf("%s says %q, and %s of %s is %d", c.page, c.text, c.name, c.folder, n)
		}
		if !strings.Contains(page, want) {
			t.Errorf("%s: got another text, want %q, as %s of %s is", c.page, want, c.name, c.folder)
		}
	}
}

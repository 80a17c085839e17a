package gen

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// misspeltKey returns the fault of a struct tag with a key that is probably a misspelling of
// graph, or "".
func misspeltKey(raw string) string {
	for rest := strings.TrimLeft(raw, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, ok := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil || after[0] != '"' {
			return "" // malformed, and go vet reports it
		}
		rest = after[len(quoted):]
		if value, err := strconv.Unquote(quoted); err == nil && meantGraph(key, value) {
			return fmt.Sprintf("unknown tag key %q; did you mean `graph:%s`?", clip(key), clip(quoted))
		}
	}
	return ""
}

// meantGraph reports whether a part of a struct tag was meant for graphgen although it has another
// key. A key at two edits from graph counts only if the value is valid for graphgen. Any other key
// counts only if the value is a reducer with an option.
func meantGraph(key, value string) bool {
	const want = "graph"
	switch {
	case key == want, key == "graphql", key == "grpc":
		return false
	case strings.EqualFold(key, want), distance(key, want) == 1:
		return true
	}
	t, faults := parseTag(want + ":" + strconv.Quote(value))
	if len(faults) > 0 || t.reducer == "" {
		return false
	}
	return key == "graphgen" || edits(key, want) == 2 || t.hasKey || t.run || t.fn != "" || t.name != "" || t.was != nil
}

// edits returns the number of letters to insert, delete or replace to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// checkKey reports a misspelt tag key of a field that this package declares.
func (r *resolver) checkKey(f *types.Var, raw string, at place) {
	if f.Pkg() != r.src.pkg.Types {
		return
	}
	if fault := misspeltKey(raw); fault != "" {
		r.fault(at, f.Type(), "%s", fault)
	}
}

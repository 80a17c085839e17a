package gen

import (
	"fmt"
	"go/types"
	"slices"
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
	case strings.EqualFold(key, want), edits(key, want) == 1:
		return true
	}
	t, faults := parseTag(want + ":" + strconv.Quote(value))
	if len(faults) > 0 || t.reducer == "" {
		return false
	}
	return key == "graphgen" || edits(key, want) == 2 || t.hasKey || t.run || t.fn != "" || t.name != "" || t.was != nil
}

// edits returns how many edits turn a into b. An edit inserts, deletes or replaces a letter, or
// swaps two neighbours.
func edits(a, b string) int {
	var before, last []int // of the letters of a before the last two, and before the last one
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = 1 + min(row[j], last[j], last[j+1])
			if a[i] == b[j] {
				row[j+1] = last[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], 1+before[j-1])
			}
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

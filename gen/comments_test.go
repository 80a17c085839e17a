package gen

import (
	"go/token"
	"strings"
	"testing"
)

// TestUpdatesCarryTheCommentsOfFields checks the comments on the fields of an update.
func TestUpdatesCarryTheCommentsOfFields(t *testing.T) {
	code := codeOf(t, `package m

//graphgen:state
type State struct {
	// Priority is the highest priority seen.
	//
	//	with code
	//
	//nolint:all // for another tool
	Priority int `+"`graph:\"max\"`"+`
	Status, Mood string // how it stands
	Plain int
	Checks []Check `+"`graph:\"upsert,key=Name\"`"+` // by name */ odd
	Text string `+"`graph:\"reduce=join\"`"+`
	Check
	Long string // `+strings.Repeat("long ", 20)+`
}

type Check struct{ Name string }

func join(old, in string) string { return old + in }
`)
	got := between(t, code, "type StateUpdate struct {\n", "\n}")
	want := `	// max: Priority is the highest priority seen.
	//
	//	with code
	Priority graphstate.Max[int]
	Status   graphstate.Value[string]        // replace: how it stands
	Mood     graphstate.Value[string]        // replace: how it stands
	Plain    graphstate.Value[int]           // replace
	Checks   graphstate.Keyed[string, Check] // upsert by Name: by name */ odd
	Text     graphstate.Reduce[string]       // reduce=join
	Check    graphstate.Value[Check]         // replace
	// replace: ` + strings.TrimSpace(strings.Repeat("long ", 20)) + `
	Long graphstate.Value[string]`
	if got != want {
		t.Errorf("the fields of the update: got\n%s\nwant\n%s", got, want)
	}
	if head, _, _ := strings.Cut(code, "\npackage"); !strings.HasSuffix(head, "// Source: state.go\n// Generator: graphgen "+Version+"\n") {
		t.Errorf("the head of the file does not name its source and the generator: %q", head)
	}
}

func TestBytesOfTheCodecAreExplained(t *testing.T) {
	code := codeOf(t, `package m

//graphgen:state
type State struct {
	Price Money
	None  Nothing
}

type Money struct {
	Currency string
	Minor    int64 `+"`graph:\"name=min\\\"or\"`"+`
}

type Nothing struct{}
`)
	for _, want := range []string{
		`"\x82\xa8Currency"...) // map of 2, key "Currency"`,
		`"\xa6min\"or"...)`,
		`// key "min\"or"`,
		`"\x80"...), nil // an empty map`,
	} {
		if !strings.Contains(code, want) {
			t.Errorf("the generated code has no %s", want)
		}
	}
}

// codeOf returns the code for the type State of a file.
func codeOf(t *testing.T, source string) string {
	t.Helper()
	files := generated(t, token.NewFileSet(), source)
	if len(files) != 1 {
		t.Fatalf("got %d files, want one", len(files))
	}
	return string(files[0].Content)
}

// between returns the text between two others.
func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	inner, _, closed := strings.Cut(rest, after)
	if !ok || !closed {
		t.Fatalf("there is no %q with %q behind it in\n%s", before, after, text)
	}
	return inner
}

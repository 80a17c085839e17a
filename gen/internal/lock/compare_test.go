package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// compare compares two files, and returns the changes as lines and the text that records them.
func compare(tb testing.TB, old, now string, migrates ...string) (changes []string, next string) {
	tb.Helper()
	const first = "graphgen.lock 1\n"
	sources := parse(tb, first+now)
	for _, field := range migrates {
		sources.States["State"].Entries[field].Migrates = true
	}
	l, all := lock.Compare(parse(tb, first+old), sources, nothing)
	for _, c := range all {
		changes = append(changes, fmt.Sprintf("%s %s: %s", []string{"allowed", "noted", "refused"}[c.Verdict], c.At.Subject, c.Text))
	}
	_, body, _ := strings.Cut(string(l.Text()), "\n#")
	_, body, _ = strings.Cut(body, "\n\n")
	return changes, body
}

// TestVerdicts changes one thing at a time.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		want     []string // the start of each change
		next     string   // as now if empty
	}{
		"nothing":                            {"state State A int sum\n", "state State A int sum\n", nil, ""},
		"a field is added":                   {"state State A int sum\n", "state State A int sum\nstate State B int sum\n", []string{"allowed B: is a new field"}, ""},
		"a field is removed":                 {"state State A int sum\nstate State B int sum\n", "state State A int sum\n", []string{"noted State: field B is removed"}, "state State A int sum\nstate State B int sum removed\n"},
		"a removed field comes back":         {"state State A int sum removed\n", "state State A int sum\n", []string{"noted A: has the stored name of a removed field"}, ""},
		"a removed name has another type":    {"state State A int sum removed\n", "state State A string last\n", []string{"refused A: has the stored name of a removed field: the stored type is int, which string cannot read"}, ""},
		"a field is renamed":                 {"state State A int sum\n", "state State B int sum was=A\n", []string{"allowed B: reads what is stored as A"}, ""},
		"a field is renamed silently":        {"state State A int sum\n", "state State B int sum\n", []string{"refused B: is new, and A is gone; if this is a rename, add was=A to the tag"}, "state State A int sum removed\nstate State B int sum\n"},
		"a field is replaced by another":     {"state State A int sum\n", "state State B string last\n", []string{"noted State: field A is removed", "allowed B: is a new field"}, "state State A int sum removed\nstate State B string last\n"},
		"a rename is forgotten":              {"state State B int sum was=A\n", "state State B int sum\n", []string{"refused B: threads may have stored it as A, and the tag does not have was=A any more"}, "state State A int sum removed\nstate State B int sum\n"},
		"a rename is undone":                 {"state State B int sum was=A\n", "state State A int sum was=B\n", []string{"allowed A: reads what is stored as B"}, ""},
		"a rename is undone silently":        {"state State B int sum was=A\n", "state State A int sum\n", []string{"refused A: is new, and B is gone; if this is a rename, add was=B"}, "state State A int sum\nstate State B int sum was=A removed\n"},
		"a former name has another type":     {"state State B int sum was=A removed\n", "state State A string last\n", []string{"refused A: has the stored name of a removed field", "allowed A: is a new field"}, "state State A string last\nstate State B int sum was=A removed\n"},
		"two fields become one":              {"state State A int sum\nstate State B int sum\n", "state State B int sum was=A\n", []string{"allowed B: reads what is stored as A", "refused B: reads the stored names A and B"}, ""},
		"a reducer changes":                  {"state State A int sum\n", "state State A int max\n", []string{"noted A: the reducer changes from sum to max"}, ""},
		"an input changes":                   {"state State A int reduce in=int\n", "state State A int reduce in=string\n", []string{"noted A: the reducer takes string and not int"}, ""},
		"a type changes":                     {"state State A int sum\n", "state State A string last\n", []string{"refused A: the stored type is int, which string cannot read", "noted A: the reducer"}, ""},
		"an integer grows":                   {"state State A int32 sum\n", "state State A int64 sum\n", nil, ""},
		"an integer shrinks":                 {"state State A int sum\n", "state State A int32 sum\n", []string{"refused A: the stored type is int, which int32 cannot read"}, ""},
		"an integer loses its sign":          {"state State A int8 sum\n", "state State A uint64 sum\n", []string{"refused A"}, ""},
		"an integer gains a sign":            {"state State A uint32 sum\n", "state State A int64 sum\n", nil, ""},
		"a small integer becomes a float":    {"state State A uint32 sum\n", "state State A float64 sum\n", nil, ""},
		"a large integer becomes a float":    {"state State A int64 sum\n", "state State A float64 sum\n", []string{"refused A"}, ""},
		"a float shrinks":                    {"state State A float64 sum\n", "state State A float32 sum\n", []string{"refused A"}, ""},
		"a value becomes a pointer":          {"state State A string last\n", "state State A *string last\n", nil, ""},
		"a pointer becomes a value":          {"state State A *string last\n", "state State A string last\n", []string{"refused A: the stored type is *string, which may be nil"}, ""},
		"an array becomes a slice":           {"state State A [3]int last\n", "state State A []int last\n", nil, ""},
		"a slice becomes an array":           {"state State A []int last\n", "state State A [3]int last\n", []string{"refused A"}, ""},
		"bytes become a string":              {"state State A []byte last\n", "state State A string last\n", []string{"refused A"}, ""},
		"keys change":                        {"state State A map[int]int merge\n", "state State A map[string]int merge\n", []string{"refused A: the stored type is map[int]int, which map[string]int"}, ""},
		"elements change":                    {"state State A []int append\nstate State B []int append\n", "state State A []string append\nstate State B []string append\n", []string{"refused A: the stored type is []int, which []string cannot read", "refused B: the stored type is []int"}, ""},
		"text becomes a string":              {"state State A Amount last\ncodec Amount text\n", "state State A string last\n", nil, ""},
		"a codec is another type":            {"state State A Amount last\ncodec Amount text\n", "state State A Money last\ncodec Money text\n", []string{"refused A: the stored type is Amount and now Money; graphgen cannot see"}, ""},
		"a struct has another name in Go":    {"state State A []Old append\nstruct Old X int\n", "state State A []New append\nstruct New X int\n", nil, ""},
		"the state has another name in Go":   {"state Old A int sum\n", "state New A int sum\n", []string{"allowed New: the type has the name Old in graphgen.lock"}, ""},
		"the state is gone":                  {"state Old A int sum\n", "state New A string last\n", []string{"refused Old: state Old is gone", "allowed New: state New is new"}, ""},
		"a nested field is added":            {"signal s E\nstruct E X int\n", "signal s E\nstruct E X int\nstruct E Y string\n", []string{"allowed Y: is a new field"}, ""},
		"a nested field is removed":          {"signal s E\nstruct E X int\nstruct E Y int\n", "signal s E\nstruct E X int\n", []string{"refused E: field Y is gone, and stored values that have it return ErrGraphChanged; restore it; or, if no thread can have stored it, run graphgen lock -accept"}, "signal s E\n\nstruct E X int\nstruct E Y int removed\n"},
		"a removed nested field comes back":  {"signal s E\nstruct E X int removed\n", "signal s E\nstruct E X int\n", []string{"noted X: has the stored name of a removed field"}, ""},
		"a removed nested name is reused":    {"signal s E\nstruct E X int removed\n", "signal s E\nstruct E X string\n", []string{"refused X: has the stored name of a removed field"}, ""},
		"a nested field is renamed":          {"signal s E\nstruct E X int\n", "signal s E\nstruct E Y int was=X\n", []string{"allowed Y: reads what is stored as X"}, ""},
		"a nested field is renamed silently": {"signal s E\nstruct E X int\n", "signal s E\nstruct E Y int\n", []string{"refused Y: is new, and X is gone; if this is a rename, add was=X"}, "signal s E\n\nstruct E X int removed\nstruct E Y int\n"},
		"a nested type changes":              {"signal s E\nstruct E X int\n", "signal s E\nstruct E X string\n", []string{"refused X: the stored type is int"}, ""},
		"a member is added":                  {"signal s U\nunion U A int\n", "signal s U\nunion U A int\nunion U B int\n", []string{"allowed B: member B is new"}, ""},
		"a member is removed":                {"signal s U\nunion U A int\nunion U B int\n", "signal s U\nunion U A int\n", []string{"refused U: member B is gone"}, "signal s U\n\nunion U A int\nunion U B int removed\n"},
		"a member is renamed":                {"signal s U\nunion U A int\n", "signal s U\nunion U B int\n", []string{"allowed B: member B is new", "refused U: member A is gone"}, "signal s U\n\nunion U A int removed\nunion U B int\n"},
		"a member has another type":          {"signal s U\nunion U A int\n", "signal s U\nunion U A string\n", []string{"refused A: member A: the stored type is int, which string cannot read; keep the type, and add a member whose type has another name"}, ""},
		"a payload changes":                  {"payload P []int\n", "payload P []string\n", []string{"refused P: the stored type is []int, which []string cannot read; declare another payload"}, ""},
		"a payload has another name in Go":   {"payload P int\n", "payload Q int\n", []string{"allowed Q: the type has the name P"}, ""},
		"a payload is gone":                  {"payload P int\n", "payload Q string\n", []string{"refused P: payload P is gone", "allowed Q: payload Q is new"}, ""},
		"a question is gone":                 {"question q int bool\n", "", []string{`refused q: question "q" is gone, and threads may wait for it`}, "question q int bool removed\n"},
		"a question was gone":                {"question q int bool removed\n", "", nil, "question q int bool removed\n"},
		"an answer has another type":         {"question q int bool\n", "question q int string\n", []string{"refused q: the stored type is bool, which string cannot read; declare a question of another name"}, ""},
		"a question is new":                  {"", "question q int bool\n", []string{`allowed q: question "q" is new`}, ""},
		"a signal is gone":                   {"signal s int\n", "", []string{`refused s: signal "s" is gone`}, "signal s int removed\n"},
		"a removed question comes back":      {"question q int bool removed\n", "question q int bool\n", nil, ""},
		"a removed question changes":         {"question q int bool removed\n", "question q int string\n", []string{"refused q: the stored type is bool, which string cannot read; declare a question of another name"}, ""},
		"a removed signal changes":           {"signal s int removed\n", "signal s string\n", []string{"refused s: the stored type is int, which string cannot read; declare a signal of another name"}, ""},
		"a removed member comes back":        {"signal s U\nunion U A int removed\nunion U B int\n", "signal s U\nunion U A int\nunion U B int\n", nil, ""},
		"a removed member changes":           {"signal s U\nunion U A int removed\nunion U B int\n", "signal s U\nunion U A string\nunion U B int\n", []string{"refused A: member A has the stored name of a removed one: the stored type is int, which string cannot read; give its type another name"}, ""},
		"a former name of a removed field":   {"state State B int sum was=A removed\n", "state State A int sum\n", []string{"noted A: has the stored name of a removed field", "allowed A: is a new field"}, "state State A int sum\nstate State B int sum was=A removed\n"},
		"a list of itself":                   {"signal s T\ntype T []T\n", "signal s U\ntype U []U\n", nil, ""},
		"a list of itself changes":           {"signal s T\ntype T []T\n", "signal s U\ntype U map[string]U\n", []string{"refused s: the stored type is T, which U cannot read"}, ""},
		"a struct of itself":                 {"signal s T\nstruct T X *T\n", "signal s T\nstruct T X *T\nstruct T Y *T\n", []string{"allowed Y: is a new field"}, ""},
		"a type of a removed field stays":    {"state State A E last\nstate State B E last\nstruct E X int\n", "state State B int last\n", []string{"refused B: the stored type is E", "noted State: field A is removed"}, "state State A E last removed\nstate State B int last\n\nstruct E X int\n"},
		"a type of a removed field is read":  {"state State A E last\nstate State B E last\nstruct E X int\n", "state State B F last\nstruct F X int\n", []string{"noted State: field A is removed"}, "state State A F last removed\nstate State B F last\n\nstruct F X int\n"},
		"its name is taken by another type":  {"state State A E last\nstruct E X int\n", "state State B E last\nstruct E X string\n", []string{"noted State: field A is removed", "allowed B: is a new field"}, "state State A E~2 last removed\nstate State B E last\n\nstruct E X string\n\nstruct E~2 X int\n"},
	} {
		changes, next := compare(t, c.old, c.now)
		slices.Sort(changes)
		slices.Sort(c.want)
		matches := slices.EqualFunc(changes, c.want, strings.HasPrefix)
		if !matches {
			t.Errorf("%s: changes\n\t%s\nwant\n\t%s", name, strings.Join(changes, "\n\t"), strings.Join(c.want, "\n\t"))
		}
		want := c.next
		if want == "" {
			_, want = compare(t, c.now, c.now)
		}
		if next != want {
			t.Errorf("%s: recorded\n%s\nwant\n%s", name, next, want)
		}
		if again, _ := compare(t, next, c.now); len(again) > 0 && !strings.Contains(name, "two fields become one") && !strings.Contains(name, "former name") {
			t.Errorf("%s: after it is recorded, the changes are %v, want none", name, again)
		}
	}
}

func TestFieldsThatBecomeUntracked(t *testing.T) {
	const first = "graphgen.lock 1\n"
	sources := parse(t, first+"state State B int sum\n")
	sources.States["State"].Untracked = []string{"A"}
	next, changes := lock.Compare(parse(t, first+"state State A int sum\n"), sources, nothing)
	if len(changes) != 2 || changes[1].Verdict != lock.Noted || !strings.HasPrefix(changes[1].Text, "field A is untracked now, and zero in threads that have stored it") {
		t.Errorf("changes %v, want a new field and a note that A is untracked", changes)
	}
	if again, changes := lock.Compare(next, sources, nothing); len(changes) > 0 || !again.States["State"].Entries["A"].Removed {
		t.Errorf("then the changes are %v, want none", changes)
	}
}

// TestQuestionsWithSeveralDeclarations compares a question that two graphs of a package declare.
func TestQuestionsWithSeveralDeclarations(t *testing.T) {
	const first = "graphgen.lock 1\n"
	declared := func(answers ...string) *lock.Lock {
		l := parse(t, first+"question q int "+answers[0]+"\n")
		for _, answer := range answers[1:] {
			l.Questions["q"].Others = append(l.Questions["q"].Others, &lock.Entry{Type: "int", Answer: answer})
		}
		return l
	}
	for _, test := range []struct {
		file string
		now  *lock.Lock
		want string // in the only change
		next string // the line of the question
	}{
		{"", declared("int64", "string"), "", ""},
		{"question q int int32\n", declared("int32", "int64"), "", "question q int int32"},
		{"question q int int32 removed\n", declared("int32", "int64"), "", "question q int int32\n"},
		{"question q int int32\n", declared("int32", "string"), "the stored type is int32, which string cannot read", ""},
		{"question q int int32\n", declared("string", "int32"), "the stored type is int32, which string cannot read", ""},
	} {
		next, changes := lock.Compare(parse(t, first+test.file), test.now, nothing)
		if len(changes) > 1 || (len(changes) == 1) != (test.want != "") || len(changes) == 1 && (changes[0].Verdict != lock.Refused || !strings.HasPrefix(changes[0].Text, test.want)) {
			t.Errorf("%q: changes %v, want %q", test.file, changes, test.want)
		}
		if text := string(next.Text()); !strings.Contains(text, test.next) || test.next == "" && strings.Contains(text, "question q") {
			t.Errorf("%q: recorded\n%s\nwant %q", test.file, text, test.next)
		}
	}
}

func TestMigrateReadsOtherTypes(t *testing.T) {
	changes, next := compare(t, "state State A string last\n", "state State A int sum\n", "A")
	if len(changes) != 2 || !strings.HasPrefix(changes[0], "noted A: the reducer") || changes[1] != "noted A: the stored type is string, which int cannot read; Migrate must read it, and stored results and inputs that set it, and are not merged yet, return ErrGraphChanged" {
		t.Errorf("changes %q, want notes on the reducer and on Migrate", changes)
	}
	if want := "state State A int sum migrated\n"; next != want {
		t.Errorf("recorded %q, want %q", next, want)
	}
	// Migrate must stay, whatever else happens to the field.
	changes, next = compare(t, next, "state State B int sum was=A\n", "B")
	if want := "state State B int sum was=A migrated\n"; next != want || len(changes) != 1 {
		t.Errorf("recorded %q with the changes %q, want %q", next, changes, want)
	}
	changes, _ = compare(t, next, "state State B int sum was=A\n")
	if len(changes) != 1 || !strings.HasPrefix(changes[0], "refused B: threads may have stored it with a former type, and no method Migrate reads that") {
		t.Errorf("without Migrate the changes are %q, want a refusal", changes)
	}
}

func TestMigrateReadsOtherTypesOfParts(t *testing.T) {
	const old = "state State A []E append\nstate State B *E last\nsignal s int\nstruct E X int\nstruct E Y int\n"
	const now = "state State A []E append\nstate State B *E last\nsignal s int\nstruct E X string\nstruct E Y int\n"
	changes, next := compare(t, old, now, "A", "B")
	if len(changes) != 1 || !strings.HasPrefix(changes[0], "noted X: the stored type is int") {
		t.Errorf("changes %q, want one note", changes)
	}
	if strings.Count(next, "migrated") != 2 {
		t.Errorf("recorded\n%s, want both fields migrated", next)
	}
	// A method of a part of the state gets only its fields.
	changes, _ = compare(t, old, now, "A")
	if len(changes) != 2 || !strings.HasPrefix(changes[1], "refused X: the stored type is int") {
		t.Errorf("changes %q, want a note and a refusal", changes)
	}
	// Migrate does not get values with fields that the code does not know.
	changes, _ = compare(t, old, strings.Replace(now, "struct E Y int\n", "", 1), "A", "B")
	if !slices.ContainsFunc(changes, func(c string) bool { return strings.HasPrefix(c, "refused E: field Y is gone") }) {
		t.Errorf("changes %q, want a refusal of the missing field", changes)
	}
}

func TestTypesThatOtherRunsGenerateStay(t *testing.T) {
	const first = "graphgen.lock 1\n"
	declared := func(kind, name string) bool { return name != "Gone" }
	old := first + "state State A E last\nstate Gone A int last\npayload P E\nsignal s int\nstruct E X int\n"
	next, changes := lock.Compare(parse(t, old), parse(t, first), declared)
	if len(changes) != 1 || !strings.HasPrefix(changes[0].Text, "state Gone is gone") {
		t.Errorf("changes %v, want one for Gone", changes)
	}
	if got, want := string(next.Text()), string(parse(t, strings.Replace(old, "state Gone A int last\n", "", 1)).Text()); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

package lock_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// whole has a line of every kind.
//
//nolint:dupword // a type and its entry have one name
const whole = `graphgen.lock 1
# Names and types that threads may have stored. graphgen keeps this file; graphgen lock shows changes.

state Empty

state State Log []string append
state State Plan *Plan reduce in=Edit was=old "was=old name" migrated
state State Tree Tree replace
state State "a name" string replace removed

payload Edit Edit

question refund Edit bool

signal paid string removed

struct Edit At time.Time was=Time

struct None

struct Plan Parts map[string]Part
struct Plan Price Amount

union Part None None
union Part Plan Plan

type Tree []Tree

codec Amount text
`

func parse(tb testing.TB, text string) *lock.Lock {
	tb.Helper()
	l, err := lock.Parse([]byte(text))
	if err != nil {
		tb.Fatalf("Parse: %v\n%s", err, text)
	}
	return l
}

func TestTextOfAParsedFileIsTheFile(t *testing.T) {
	if got := string(parse(t, whole).Text()); got != whole {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
}

func TestOrderAndRepetitionOfLinesDoNotMatter(t *testing.T) {
	head, body, _ := strings.Cut(whole, "\n")
	lines := strings.Split(body, "\n")
	mixed := head
	for i := range lines {
		mixed += "\n" + lines[len(lines)-1-i]
	}
	mixed += "\n" + body
	if got := string(parse(t, strings.ReplaceAll(mixed, "\n", "\r\n")).Text()); got != whole {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
}

// TestLinesOfTwoBranchesBecomeOne reads what git writes for merge=union: the lines of both sides.
func TestLinesOfTwoBranchesBecomeOne(t *testing.T) {
	const union = "graphgen.lock 1\n" +
		"state State A int replace removed\nstate State B int replace\nstate State A int replace\nstate State B int replace was=C\n" +
		"state State D int replace was=E\nstate State D int replace was=F migrated\nsignal s int removed\nsignal s int\n"
	const want = "state State A int replace removed\nstate State B int replace was=C\nstate State D int replace was=E was=F migrated\n\nsignal s int removed\n"
	if got := string(parse(t, union).Text()); !strings.HasSuffix(got, "\n\n"+want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFaultsOfAFileNameTheirLine(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"empty":                   {"", 1, `does not begin with "graphgen.lock 1"`},
		"another file":            {"{}", 1, "does not begin"},
		"a newer format":          {"graphgen.lock 2\nstate A b c d", 1, "has format 2, and this version of graphgen reads format 1; use a newer graphgen"},
		"format 0":                {"graphgen.lock 0\n", 1, "does not begin"},
		"a conflict at the start": {"<<<<<<< HEAD\ngraphgen.lock 1\n", 1, "merge conflict"},
		"a conflict":              {"graphgen.lock 1\nsignal a string\n=======\nsignal b string\n", 3, "merge conflict"},
		"the end of a conflict":   {"graphgen.lock 1\n>>>>>>> branch\n", 2, "merge conflict"},
		"an unknown word":         {"graphgen.lock 1\nnode A\n", 2, `begins with the unknown word "node"`},
		"no name":                 {"graphgen.lock 1\n\nstate\n", 3, `"state" needs a name`},
		"no type":                 {"graphgen.lock 1\nstate State A\n", 2, "has no type"},
		"no reducer":              {"graphgen.lock 1\nstate State A int\n", 2, "has no reducer"},
		"no answer":               {"graphgen.lock 1\nquestion a int\n", 2, "has no answer type"},
		"an unknown option":       {"graphgen.lock 1\nsignal a int gone\n", 2, `has the unknown option "gone"`},
		"an option of others":     {"graphgen.lock 1\nsignal a int was=b\n", 2, `has the unknown option "was=b"`},
		"an unknown form":         {"graphgen.lock 1\ncodec A gob\n", 2, `has the unknown form "gob"`},
		"a type of nothing":       {"graphgen.lock 1\nstruct A B []C\n", 2, "type C is not described"},
		"a key of nothing":        {"graphgen.lock 1\nstruct A B map[A]int\n", 2, "has the key A"},
		"a type of itself":        {"graphgen.lock 1\ntype A B\ntype B A\n", 1, "is described by itself alone"},
		"two meanings":            {"graphgen.lock 1\nsignal a int\nsignal a string\n", 3, "signal a is listed differently on line 2; keep the line that fits the sources"},
		"two codecs":              {"graphgen.lock 1\ncodec a text\ncodec a json\n", 3, "is listed differently"},
		"two kinds":               {"graphgen.lock 1\nstruct A\ncodec A json\n", 1, "A has lines of two kinds"},
		"an open quote":           {"graphgen.lock 1\nsignal \"a int\n", 2, "has a quote that is not closed"},
		"a name that is a type":   {"graphgen.lock 1\nstruct *A\n", 2, "cannot be the name of a type"},
		"no text":                 {"graphgen.lock 1\nsignal \xff int\n", 2, "is not valid UTF-8"},
		"endless layers":          {"graphgen.lock 1\nsignal a " + strings.Repeat("*", 5000) + "int\n", 2, "more than 1000 layers"},
	} {
		_, err := lock.Parse([]byte(c.text))
		var fault *lock.SyntaxError
		if !errors.As(err, &fault) || fault.Line != c.line || !strings.Contains(fault.Message, c.want) {
			t.Errorf("%s: %v, want a *SyntaxError on line %d with %q", name, err, c.line, c.want)
		}
	}
}

func nothing(string, string) bool { return false }

// FuzzParse parses any bytes. It writes and compares the files that can be parsed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("graphgen.lock 1\ntype A []A\nstate S x A replace\n<<<<<<<"))
	f.Add([]byte("graphgen.lock 1\nstruct A B A was=C removed\nunion U A int\nsignal \"\" U"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lock.Parse(data)
		if err != nil {
			return
		}
		text := l.Text()
		if again := parse(t, string(text)).Text(); !bytes.Equal(again, text) {
			t.Fatalf("reading and writing changes\n%s\nto\n%s", text, again)
		}
		next, changes := lock.Compare(l, parse(t, string(text)), nothing)
		for _, c := range changes {
			if c.Verdict == lock.Refused && !strings.Contains(c.Text, "Migrate") && !strings.Contains(c.Text, "more than one") &&
				!strings.Contains(c.Text, "removed field") {
				t.Errorf("a file differs from itself: %s", c.Text)
			}
		}
		if _, err := lock.Parse(next.Text()); err != nil {
			t.Fatalf("%v\nin what was recorded\n%s\nof\n%s", err, next.Text(), text)
		}
	})
}

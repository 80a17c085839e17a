package sqlsaver

import (
	"regexp"
	"strconv"
	"strings"
)

// Dialect is how one kind of database differs from the others. Its strings become parts of statements when a saver
// is made; they never hold data.
type Dialect struct {
	Name     string // of the saver's package: starts the errors
	Now      string // an expression: the server's clock, in microseconds since 1970
	Lock     string // ends a SELECT whose row is to be locked for a change
	Share    string // ends the SELECT of a commit: keeps the thread's row as it is until the commit is done
	Bytes    string // a bound value of bytes, where no column says what it is
	Number   string // a bound number, likewise
	Mark     string // begins a bound value with its number, $1 or ?1; empty for ? alone
	Then     string // JOIN, where the left table is to be read first
	Skip     string // ends an INSERT that leaves a row which stands already as it is
	Replace  string // ends an INSERT into graph_write that gives a row which stands already the new data
	State    string // ends an INSERT into graph_state that replaces the state
	Classify func(err error) Fault

	// Together says that a statement costs a round trip: rows are stored many at a time.
	Together bool

	// Forms are those of statements that are not as in forms.
	Forms map[string]string

	// HasTable is a statement that returns a row when the table that is bound to it exists. LockSchema keeps other
	// processes from changing tables until UnlockSchema, or the transaction's end, and returns 1 when it does; both
	// may be empty.
	HasTable, LockSchema, UnlockSchema string

	// Commit, Put and PutFirst do what the statements of those names do, with the same values bound in
	// the same order; empty for those.
	Commit, Put, PutFirst string
	// ByIndex are statements that make what follows in the same transaction read by index, whatever the server thinks of
	// its tables; none where it does so by itself.
	ByIndex []string
	// DropFirst are the statements that drop what else there is, before tables are dropped.
	DropFirst []string
}

// Fault says what an error of a database means for the call.
type Fault int

// The faults.
const (
	Other      Fault = iota // the call failed
	Duplicate               // a row with the same key stands already
	RolledBack              // nothing was stored, for a reason that may be gone the next time: a deadlock, a lock held too long
	Lost                    // the connection broke: a write may have been stored
	Full                    // there is no room to store anything
)

// texts returns the statements in the dialect.
func (d *Dialect) texts() [statements]string {
	all := texts()
	for st, text := range map[statement]string{stCommit: d.Commit, stPutOne: d.Put, stKeepOne: d.PutFirst} {
		if text != "" {
			all[st] = text
		}
	}
	for i := range all {
		all[i] = d.text(all[i])
	}
	return all
}

// many returns the statements that store many pending writes at once, by how many; nil for none.
func (d *Dialect) many() map[statement]map[int]string {
	if !d.Together {
		return nil
	}
	all, one := make(map[statement]map[int]string), texts()
	for _, st := range [...]statement{stPutWrite, stKeepWrite} {
		before, after, _ := strings.Cut(one[st], "VALUES ")
		row, _, _ := strings.Cut(after, ")")
		all[st] = make(map[int]string)
		for _, rows := range [...]int{mostTogether, fewTogether} {
			all[st][rows] = d.text(before + "VALUES " + strings.Repeat(row+"), ", rows-1) + after)
		}
	}
	return all
}

// form finds {a form and its words} in a statement.
var form = regexp.MustCompile(`\{(\w+)((?: [^ {}]+)*)\}`)

// text returns a statement in the dialect.
func (d *Dialect) text(s string) string {
	s = strings.NewReplacer(
		"{now}", d.Now, "{lock}", d.Lock, "{share}", d.Share, "{bytes}", d.Bytes, "{number}", d.Number,
		"{skip}", d.Skip, "{replace}", d.Replace, "{state}", d.State, "{then}", d.Then, "{dead}", deadBase,
	).Replace(s)
	s = form.ReplaceAllStringFunc(d.numbered(s), func(found string) string {
		words := strings.Fields(strings.Trim(found, "{}"))
		text, special := d.Forms[words[0]]
		if !special {
			text = forms[words[0]]
		}
		for i, word := range words[1:] {
			text = strings.ReplaceAll(text, "%["+strconv.Itoa(i+1)+"]s", word)
		}
		return text
	})
	if d.Mark == "" {
		return again.ReplaceAllString(s, "?")
	}
	return again.ReplaceAllStringFunc(s, func(found string) string { return d.Mark + found[1:] })
}

// again finds a value that is bound once more.
var again = regexp.MustCompile(`@\d+`)

// numbered returns a statement with its bound values as the dialect marks them.
func (d *Dialect) numbered(s string) string {
	if d.Mark == "" {
		return s
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(s, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(d.Mark + strconv.Itoa(n))
		s = after
	}
}

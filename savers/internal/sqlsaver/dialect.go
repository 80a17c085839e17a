package sqlsaver

import (
	"cmp"
	"strconv"
	"strings"
)

// Dialect is how one kind of database differs from the others. Its strings become parts of statements when a saver
// is made; they never hold data.
type Dialect struct {
	Name      string // of the saver's package: starts the errors
	Now       string // an expression: the server's clock, in microseconds since 1970
	Lock      string // ends a SELECT whose row is to be locked for a change
	Share     string // ends the SELECT of a commit: keeps the thread's row as it is until the commit is done
	Bytes     string // a bound value of bytes, where no column says what it is
	Number    string // a bound number, likewise
	Numbered  bool   // bound values are $1, $2 ... and not ?
	Preceding string // joins p, the row before c; empty for a plain join
	Then      string // JOIN, where the left table is to be read first
	Seq       string // the Seq of a row that Place stores after h
	Stored    string // ends the statement of a commit
	Skip      string // ends an INSERT that leaves a row which stands already as it is
	Replace   string // ends an INSERT into graph_write that gives a row which stands already the new data
	State     string // ends an INSERT into graph_state that replaces the state
	Classify  func(err error) Fault

	// HasTable is a statement that returns a row when the table that is bound to it exists. LockSchema keeps other
	// processes from changing tables until UnlockSchema, or the transaction's end, and returns 1 when it does; both
	// may be empty.
	HasTable, LockSchema, UnlockSchema string

	// Commit, CommitChild, Put and PutFirst do what the statements of those names do, with the same values bound in
	// the same order; empty for those.
	Commit, CommitChild, Put, PutFirst string
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
	for st, text := range map[statement]string{
		stCommitRoot: d.Commit, stCommitChild: d.CommitChild, stPutOne: d.Put, stKeepOne: d.PutFirst,
	} {
		if text != "" {
			all[st] = text
		}
	}
	for i := range all {
		all[i] = d.text(all[i])
	}
	return all
}

// text returns a statement in the dialect.
func (d *Dialect) text(s string) string {
	record := strings.ReplaceAll(recordColumns, "{preceding}", cmp.Or(d.Preceding, preceding))
	s = strings.NewReplacer(
		"{now}", d.Now, "{lock}", d.Lock, "{share}", d.Share, "{bytes}", d.Bytes, "{number}", d.Number,
		"{seq}", d.Seq, "{stored}", d.Stored, "{skip}", d.Skip, "{replace}", d.Replace, "{state}", d.State,
		"{then}", d.Then, "{record}", record, "{dead}", deadBase,
	).Replace(s)
	if !d.Numbered {
		return s
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(s, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		s = after
	}
}

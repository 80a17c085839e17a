package sqlsaver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// RowStore is a rows.Store on a database. Each table of the contract is a table of the database:
// pk is the key, and data the value. The table of threads also has the revision, and columns for
// people who read it.
//
// A Read is one statement, so it needs no transaction to see one moment. The statements are the
// same for all tables and databases but for a few words, so the program makes them, of [Syntax].
type RowStore struct {
	s       *Database
	y       *Syntax
	packing pack.Policy

	mu    sync.Mutex
	reads map[string]string // statements by the shape of what they read
	texts map[form]string   // statements of changes
}

// form is the form of a statement of a change: what it does with how many rows of a table.
type form struct {
	kind  formKind
	table rows.Table
	n     int
}

// formKind is the kind of a form.
type formKind uint8

// The kinds of statements of changes.
const (
	insertNew    formKind = iota // rows; an error if one of them exists
	insertIf                     // a row, if a thread has a revision
	put                          // rows, in the place of those that exist
	replace                      // the row of a thread with a revision
	check                        // that a thread has a revision
	removeRows                   // by their keys
	removeWithin                 // those of a range
)

var _ rows.Store = (*RowStore)(nil)

// Syntax is how the statements on rows of one kind of database differ from those of others.
type Syntax struct {
	Place  func(n int) string // what stands for the n-th bound value, from 1
	Upsert string             // what follows an INSERT that replaces the row with the key, up to the columns
	Take   string             // the new value of a column %[1]s there, such as "%[1]s = excluded.%[1]s"
	Ignore string             // what follows an INSERT of pk that does nothing if there is a row
	Share  string             // what follows a SELECT that locks the rows that it finds against changes
	Lock   string             // what follows one that locks them to change them
	Skip   string             // what follows one that does so, and leaves out rows that others have locked
	NoWait string             // what follows one that does so, and fails if others have locked one
	Join   string             // a JOIN that reads the rows of its left table first, in their order
	Bytes  string             // fmt of bound bytes in the list of a SELECT; "" is the bound value
	Now    string             // the time of the server, in microseconds; "" if it is that of the process
	Parens bool               // a part of a UNION ALL that has an order is in parentheses

	lock string // Lock, if reads lock rows

	Calls *Calls // if set, what the database does in place of these statements
}

// NewRowStore returns the rows of a database, whose tables exist.
func NewRowStore(s *Database, y *Syntax) *RowStore {
	return &RowStore{s: s, y: y, reads: make(map[string]string), texts: make(map[form]string)}
}

// Packing returns when a saver on the rows packs records. It is zero but in tests.
func (r *RowStore) Packing() pack.Policy { return r.packing }

// most is how many ranges or rows of one kind a statement has at most.
const most = 32

// size returns the least power of two that is not less than n, and 0 for 0. Statements have such
// numbers of values and limits, so there are few statements.
func size(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// tableName returns the name of a table of rows in the database.
func tableName(t rows.Table) string { return "graph_" + t.String() }

// part is a part of a Read that one SELECT does: a range, or several that are alike.
type part struct {
	first, n int
}

// isLast reports whether a range selects only the last row between two keys.
func isLast(r *rows.Range) bool { return r.Limit == 1 && r.Reverse && r.To != nil }

// alike reports whether one SELECT can read both ranges.
func alike(a, b *rows.Range) bool {
	return a.Table == b.Table && (a.To == nil && b.To == nil || isLast(a) && isLast(b))
}

// divide divides ranges into parts.
func divide(ranges []rows.Range) (all []part) {
	for i := 0; i < len(ranges); {
		n := 1
		for n < most && i+n < len(ranges) && alike(&ranges[i], &ranges[i+n]) {
			n++
		}
		all = append(all, part{i, n})
		i += n
	}
	return all
}

// statement returns the statement that reads ranges, with its values.
func (r *RowStore) statement(ranges []rows.Range, all []part) (text string, args []any) {
	shape := make([]byte, 0, 4*len(all))
	args = make([]any, 0, 3*len(ranges))
	for _, p := range all {
		first := &ranges[p.first]
		kind := byte('=')
		switch {
		case first.Items > 0:
			kind = 'i'
		case isLast(first):
			kind = 'l'
		case first.To != nil && first.Reverse:
			kind = 'd'
		case first.To != nil:
			kind = 'u'
		}
		n := size(p.n)
		shape = append(shape, byte(first.Table), kind, byte(n), byte(bits.Len(uint(size(first.Limit)))))
		for i := range n {
			q := &ranges[p.first+min(i, p.n-1)]
			if kind == 'i' {
				args = append(args, int64(q.Items+1)) // SQL counts from 1
			}
			args = append(args, q.Bytes)
			switch {
			case kind == '=':
			case i < p.n:
				args = append(args, q.To)
			default: // an empty range
				args = append(args, q.Bytes)
			}
		}
	}
	return cached(r, r.reads, string(shape), func() string { return r.y.read(shape) }), args
}

// read returns the statement for a shape. Its rows have the number of their part.
func (y *Syntax) read(shape []byte) string {
	var b strings.Builder
	place, derived := 0, 0
	next := func() string { place++; return y.Place(place) }
	for i := 0; i < len(shape); i += 4 {
		t, kind, n := rows.Table(shape[i]), shape[i+1], int(shape[i+2])
		limit := "" // a literal, because SQLite compiles a statement again if a bound limit changes
		if shape[i+3] > 0 {
			limit = fmt.Sprintf(" LIMIT %d", 1<<(shape[i+3]-1))
		} else if y.Parens { // MySQL ignores the order of a part without a limit
			limit = fmt.Sprintf(" LIMIT %d", math.MaxInt64)
		}
		columns := "pk, 0, data"
		switch t {
		case rows.Threads, rows.Items:
			columns = "pk, rev, data"
		case rows.Index:
			columns = "pk, 0, x''"
		}
		from := fmt.Sprintf("SELECT %d, %s FROM %s WHERE pk ", i/4, columns, tableName(t))
		if kind == 'i' {
			from = fmt.Sprintf("SELECT %d, h.pk, h.rev, h.data FROM %s AS e %s %s AS h ON h.pk = SUBSTR(e.pk, %s) WHERE e.pk ",
				i/4, tableName(t), y.Join, tableName(rows.Items), next())
		}
		for j := range n {
			if kind == '=' && j > 0 {
				break
			}
			if b.Len() > 0 {
				b.WriteString("\nUNION ALL ")
			}
			if kind == '=' {
				places := make([]string, n)
				for k := range places {
					places[k] = next()
				}
				one := from + "IN (" + strings.Join(places, ", ") + ")"
				if y.lock != "" {
					one = "(" + one + y.lock + ")"
				}
				b.WriteString(one)
				continue
			}
			pk, order := "pk", ""
			switch kind {
			case 'i':
				pk = "e.pk"
			case 'd', 'l':
				order = " DESC"
			}
			ordered := fmt.Sprintf("(%s>= %s AND %s < %s ORDER BY %s%s%s)", from, next(), pk, next(), pk, order, limit)
			if derived++; !y.Parens {
				ordered = fmt.Sprintf("SELECT * FROM %s AS t%d", ordered, derived)
			}
			b.WriteString(ordered)
		}
	}
	if y.Now != "" { // last: MariaDB takes longer if the columns of the first part are no columns of a table
		if b.Len() > 0 {
			b.WriteString("\nUNION ALL ")
		}
		b.WriteString("SELECT -1, x'', " + y.Now + ", x''")
	}
	return b.String()
}

// Read returns the rows of ranges.
func (r *RowStore) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	err = r.s.try(ctx, Lost, func() (err error) {
		if r.y.Calls != nil {
			all, now, err = r.y.Calls.read(ctx, r.s.db, false, ranges)
			return err
		}
		all, now, err = r.readBy(ctx, r.s.db, ranges)
		return err
	})
	if err != nil {
		return nil, time.Time{}, r.s.explain(ctx, err)
	}
	return all, now, nil
}

// readBy reads ranges by a database or in a transaction, and the time.
func (r *RowStore) readBy(ctx context.Context, db Runner, ranges []rows.Range) (all [][]rows.Row, now time.Time, err error) {
	all = make([][]rows.Row, len(ranges))
	if len(ranges) > 0 || r.y.Now != "" {
		divided := divide(ranges)
		text, args := r.statement(ranges, divided)
		err = ask(ctx, db, text, args, func(f Rows) error { return scanRow(f, ranges, divided, all, &now) })
	}
	if r.y.Now == "" {
		now = time.Now() // not before the view: else what another process has set to now may seem later
	}
	return all, now, err
}

// ask calls scan for each row that a statement returns.
func ask(ctx context.Context, db Runner, text string, args []any, scan func(Rows) error) error {
	if b, can := db.(Batcher); can {
		return b.Batch(ctx, []Call{{Text: text, Args: args}}, scan)
	}
	found, err := db.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	return each(found, scan)
}

// scanRow adds a row that the statement for divided ranges returns to the rows of its range.
func scanRow(f Rows, ranges []rows.Range, divided []part, all [][]rows.Row, now *time.Time) error {
	var row rows.Row
	var part, rev int64
	var data []byte
	if err := f.Scan(&part, &row.Key, &rev, &data); err != nil {
		return err
	}
	if part < 0 {
		*now = time.UnixMicro(rev)
		return nil
	}
	row.Rev, row.Value = uint64(rev), data
	p := divided[part]
	for i := p.first; i < p.first+p.n; i++ {
		q := &ranges[i]
		switch in := p.n == 1 || q.To == nil && bytes.Equal(q.Bytes, row.Key) ||
			q.To != nil && bytes.Compare(q.Bytes, row.Key) <= 0 && bytes.Compare(row.Key, q.To) < 0; {
		case !in:
		case q.Limit == 0 || len(all[i]) < q.Limit: // the limit of the statement is greater
			all[i] = append(all[i], row)
		case p.n > 1 && isLast(q) && bytes.Compare(all[i][0].Key, row.Key) < 0: // that was the last of another range
			all[i][0] = row
		}
	}
	return nil
}

// threadColumns are the columns of the table of threads, in the order of revisedValues.
var threadColumns = [...]string{"pk", "rev", "data", "graph", "title", "version", "status", "created", "updated", "wake"}

// stateColumns are the columns of the table of states, in the order of stateValues.
var stateColumns = [...]string{"pk", "thread", "version", "seq", "state_json"}

// stateValues returns the values of a row of the table of states.
func stateValues(p *rows.Put) []any {
	return []any{p.Bytes, []byte(p.Thread), int64(p.Columns.Version), int64(p.Columns.Seq), string(p.Value)}
}

// columnsOf returns the columns of a table.
func columnsOf(t rows.Table) []string {
	switch t {
	case rows.Threads:
		return threadColumns[:]
	case rows.States:
		return stateColumns[:]
	case rows.Index:
		return []string{"pk"}
	case rows.Items:
		return threadColumns[:3]
	}
	return []string{"pk", "data"}
}

// revisedValues returns the values of a row of a table with revisions.
func revisedValues(p *rows.Put, rev uint64) []any {
	c := p.Columns
	if p.Table == rows.Items {
		return []any{p.Bytes, int64(rev), p.Value}
	}
	return []any{
		p.Bytes, int64(rev), p.Value, c.Graph, c.Title, int64(c.Version), int64(c.Status),
		Micro(c.Created), Micro(c.Updated), Micro(c.Wake),
	}
}

// Micro returns a time as a column has it: in microseconds, 0 for none.
func Micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// text returns the statement of a form.
func (y *Syntax) text(f form) string {
	name := tableName(f.table)
	places := func(from, n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = y.Place(from + i)
		}
		return strings.Join(all, ", ")
	}
	columns := columnsOf(f.table)
	insert := "INSERT INTO " + name + " (" + strings.Join(columns, ", ") + ") "
	values := make([]string, f.n)
	for i := range values {
		values[i] = "(" + places(1+i*len(columns), len(columns)) + ")"
	}
	p := y.Place
	switch f.kind {
	case insertIf:
		bound := y.Bytes
		if bound == "" {
			bound = "%s"
		}
		return insert + fmt.Sprintf("SELECT "+bound+", "+bound+" FROM %s WHERE pk = %s AND rev = %s", p(1), p(2), tableName(rows.Threads), p(3), p(4)) + y.Share
	case put:
		if f.table == rows.Index {
			return insert + "VALUES " + strings.Join(values, ", ") + y.Ignore
		}
		takes := make([]string, len(columns)-1)
		for i, c := range columns[1:] {
			takes[i] = fmt.Sprintf(y.Take, c)
		}
		end := y.Upsert + strings.Join(takes, ", ")
		return insert + "VALUES " + strings.Join(values, ", ") + end
	case replace:
		sets := make([]string, 0, len(columns))
		for i, c := range columns[1:] {
			sets = append(sets, c+" = "+p(i+1))
		}
		n := len(columns)
		return "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE pk = " + p(n) + " AND rev = " + p(n+1)
	case check:
		return "UPDATE " + name + " SET rev = rev WHERE pk = " + p(1) + " AND rev = " + p(2)
	case removeRows:
		return "DELETE FROM " + name + " WHERE pk IN (" + places(1, f.n) + ")"
	case removeWithin:
		return "DELETE FROM " + name + " WHERE pk >= " + p(1) + " AND pk < " + p(2)
	}
	return insert + "VALUES " + strings.Join(values, ", ")
}

// step is a statement of a change.
type step struct {
	form form
	text string
	args []any
}

// checks reports whether the statement must find a row: if it does not, a check does not hold.
func (st *step) checks() bool {
	return st.form.kind == insertIf || st.form.kind == replace || st.form.kind == check
}

// Apply stores c. If the connection breaks, Apply tries again: a change that was stored does not
// find the revisions again that it checks.
func (r *RowStore) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	if r.y.Calls != nil {
		err = r.once(ctx, c, func() error {
			rev, read, err = r.y.Calls.apply(ctx, r.s.db, c)
			return err
		})
		return rev, read, err
	}
	rev = c.Rev(time.Now())
	steps := r.steps(c, rev)
	one := len(steps) == 1 && len(c.Reads) == 0
	if b, can := r.s.db.(Batcher); can && !one && small(steps) {
		err = r.once(ctx, c, func() error {
			read, err = r.batch(ctx, b, c, steps)
			return err
		})
		return rev, read, err
	}
	if c.Joint && r.y.NoWait != "" {
		return 0, nil, rows.ErrChanged // only a batch does not wait for locks
	}
	err = r.s.try(ctx, repeatable(c), func() error {
		if one {
			return steps[0].run(ctx, r.s.db)
		}
		return r.s.shared(ctx, func(ctx context.Context, tx Tx) (err error) {
			read, err = r.run(ctx, tx, steps, c.Reads)
			return err
		})
	})
	return rev, read, r.failed(ctx, c, err)
}

// once makes a call that stores c whole. It repeats the call as Database.try does, unless c is
// joint: that call waits for nobody, and its error is the one of the database.
func (r *RowStore) once(ctx context.Context, c *rows.Change, call func() error) error {
	if c.Joint {
		return call()
	}
	return r.failed(ctx, c, r.s.try(ctx, repeatable(c), call))
}

// Batcher is a DB or a Tx that runs several statements in one round trip, without preparing them.
type Batcher interface {
	// Batch runs calls. A DB stores all of them or none. Batch returns rows.ErrChanged if a call
	// that must find a row finds none. It calls scan for each row that calls return.
	Batch(ctx context.Context, calls []Call, scan func(Rows) error) error
}

// smallBatch is the most bytes of values in a batch. They have a longer form in its text.
const smallBatch = 1 << 20

// small reports whether the values of statements may be in the text of a batch.
func small(steps []step) bool {
	n := 0
	for i := range steps {
		for _, a := range steps[i].args {
			if b, ok := a.([]byte); ok {
				n += len(b)
			}
		}
	}
	return n <= smallBatch
}

// batch runs statements, and then reads ranges.
func (r *RowStore) batch(ctx context.Context, b Batcher, c *rows.Change, steps []step) (read [][]rows.Row, err error) {
	calls := make([]Call, 0, len(steps)+2)
	if c.Joint {
		calls = append(calls, r.y.lockAll(c))
	}
	for i := range steps {
		calls = append(calls, Call{Text: steps[i].text, Args: steps[i].args, Must: steps[i].checks()})
	}
	divided, now := divide(c.Reads), time.Time{}
	if len(c.Reads) > 0 {
		text, args := r.statement(c.Reads, divided)
		calls = append(calls, Call{Text: text, Args: args})
	}
	read = make([][]rows.Row, len(c.Reads))
	err = b.Batch(ctx, calls, func(f Rows) error { return scanRow(f, c.Reads, divided, read, &now) })
	return read, err
}

// lockAll returns the statement that locks the threads of a change, and fails if others have
// locked one. Its rows are those of a time, which a batch ignores. Each thread has a SELECT of its
// own, because a server may read a small table as a whole, with locks of others.
func (y *Syntax) lockAll(c *rows.Change) Call {
	all := Sorted(c)
	parts, args := make([]string, len(all)), make([]any, len(all))
	for i := range all {
		parts[i] = "(SELECT -1, NULL, 0, NULL FROM " + tableName(rows.Threads) + " WHERE pk = " + y.Place(i+1) + y.NoWait + ")"
		args[i] = []byte(all[i].Thread)
	}
	return Call{Text: strings.Join(parts, " UNION ALL "), Args: args}
}

// repeatable returns the worst fault after which a change may be applied again.
func repeatable(c *rows.Change) Fault {
	if c.Once {
		return RolledBack
	}
	return Lost
}

// run runs the statements of a change, and then reads ranges.
func (r *RowStore) run(ctx context.Context, tx Runner, steps []step, ranges []rows.Range) (read [][]rows.Row, err error) {
	for i := range steps {
		if err := steps[i].run(ctx, tx); err != nil {
			return nil, err
		}
	}
	if len(ranges) > 0 {
		read, _, err = r.readBy(ctx, tx, ranges)
	}
	return read, err
}

// run runs a statement.
func (st *step) run(ctx context.Context, db Runner) error {
	n, err := db.Exec(ctx, st.text, st.args...)
	if err == nil && n == 0 && st.checks() {
		err = rows.ErrChanged
	}
	return err
}

// failed returns what the error of a change means: ErrChanged for a row that exists.
func (r *RowStore) failed(ctx context.Context, c *rows.Change, err error) error {
	switch {
	case err == nil || errors.Is(err, rows.ErrChanged):
		return err
	case r.s.fault(err) == Duplicate:
		return fmt.Errorf("%w: %w", rows.ErrChanged, err)
	}
	largest := 0
	for i := range c.Puts {
		largest = max(largest, len(c.Puts[i].Value))
	}
	if sized := r.s.sized(ctx, err, largest); errors.Is(sized, checkpoint.ErrTooLarge) {
		return sized
	}
	return r.s.explain(ctx, err)
}

// steps returns the statements of c.
func (r *RowStore) steps(c *rows.Change, rev uint64) []step {
	all := steps(c, rev)
	for i := range all {
		f := all[i].form
		all[i].text = cached(r, r.texts, f, func() string { return r.y.text(f) })
	}
	return all
}

// cached returns a text of r, which it makes the first time.
func cached[K comparable](r *RowStore, texts map[K]string, key K, text func() string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if texts[key] == "" {
		texts[key] = text()
	}
	return texts[key]
}

// steps returns the statements of c, without their texts.
func steps(c *rows.Change, rev uint64) []step {
	if one := len(c.Checks) == 1 && len(c.Puts) == 1 && len(c.Deletes) == 0 && c.Puts[0].New && c.Checks[0].Table == rows.Threads; one {
		p := &c.Puts[0]
		args := []any{p.Bytes, p.Value, []byte(c.Checks[0].Thread), int64(c.Checks[0].Rev)}
		return []step{{form: form{insertIf, p.Table, 1}, args: args}}
	}
	steps := make([]step, 0, len(c.Checks)+len(c.Deletes)+len(c.Puts))
	puts := Revised(c)
	for _, k := range Sorted(c) {
		steps = append(steps, checked(puts[k], &k, rev))
	}
	return putting(deleting(steps, c.Deletes), c.Puts)
}

// Revised returns the puts of rows with revisions of c, by their checks.
func Revised(c *rows.Change) map[rows.Check]*rows.Put {
	type key struct {
		t  rows.Table
		id string
	}
	puts, all := make(map[key]*rows.Put, len(c.Checks)), make(map[rows.Check]*rows.Put, len(c.Checks))
	for i := range c.Puts {
		if p := &c.Puts[i]; p.Table.Revised() {
			puts[key{p.Table, string(p.Bytes)}] = p
		}
	}
	for _, k := range c.Checks {
		all[k] = puts[key{k.Table, k.Thread}]
	}
	return all
}

// checked returns the statement that checks a revision and stores the new row. Without a new row
// it changes the revision to itself.
func checked(p *rows.Put, k *rows.Check, rev uint64) step {
	if p == nil {
		return step{form: form{check, k.Table, 1}, args: []any{[]byte(k.Thread), int64(k.Rev)}}
	}
	values := revisedValues(p, rev)
	if k.Rev == 0 {
		return step{form: form{insertNew, k.Table, 1}, args: values}
	}
	return step{form: form{replace, k.Table, 1}, args: append(values[1:], values[0], int64(k.Rev))}
}

// deleting adds the statements that remove rows.
func deleting(steps []step, all []rows.Range) []step {
	var points [rows.Tables][]any
	for i := range all {
		d := &all[i]
		if d.To == nil {
			points[d.Table] = append(points[d.Table], d.Bytes)
			continue
		}
		steps = append(steps, step{form: form{removeWithin, d.Table, 1}, args: []any{d.Bytes, d.To}})
	}
	for t, keys := range points {
		for some := range slices.Chunk(keys, most) {
			n := size(len(some))
			for len(some) < n {
				some = append(some[:len(some):len(some)], some[0])
			}
			steps = append(steps, step{form: form{removeRows, rows.Table(t), n}, args: some})
		}
	}
	return steps
}

// putting adds the statements that store rows of the tables other than that of threads.
func putting(steps []step, all []rows.Put) []step {
	for t := range rows.Tables {
		for _, kind := range [...]formKind{insertNew, put} {
			var values []any
			each := len(columnsOf(rows.Table(t)))
			for i := range all {
				p := &all[i]
				if p.Table != rows.Table(t) || p.Table.Revised() || p.New != (kind == insertNew) {
					continue
				}
				switch rows.Table(t) {
				case rows.States:
					values = append(values, stateValues(p)...)
				case rows.Index:
					values = append(values, p.Bytes)
				default:
					values = append(values, p.Bytes, p.Value)
				}
			}
			for some := range slices.Chunk(values, mostPuts*each) {
				steps = append(steps, step{form: form{kind, rows.Table(t), len(some) / each}, args: some})
			}
		}
	}
	return steps
}

// mostPuts is how many rows a statement stores at most.
const mostPuts = 8

// Close closes the database.
func (r *RowStore) Close() error { return r.s.Close() }

package postgres

import (
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// syntax is how a saver reads and changes rows: by the functions of the schema.
var syntax = sqlsaver.Syntax{Calls: &sqlsaver.Calls{Read: readRows, Apply: applyChange, Due: due, Check: checks}}

// The statements.
const (
	readText   = "SELECT * FROM graph_read($1::int[], $2::bytea[], $3::bytea[], $4::int[], $5::int[])"
	lockText   = "SELECT * FROM graph_lock($1::int[], $2::bytea[], $3::bytea[], $4::int[])"
	commitText = "SELECT 0, ''::bytea, 0::bigint, ''::bytea FROM graph_commit($1::bytea, $2::bigint, $3::int, $4::bytea, $5::bytea) stored WHERE stored"
	applyText  = "SELECT * FROM graph_apply(" + applyArgs + "false)"
	// A joint change does not wait for locks: set_config is called before graph_apply.
	jointText = "SELECT * FROM graph_apply(" + applyArgs + "set_config('lock_timeout', '1', true) = '')"
	applyArgs = "$1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], " +
		"$11::int[], $12::bytea[], $13::bytea[], $14::int[], $15::bytea[], $16::bytea[], $17::bytea, $18::bigint, $19::bigint, $20::text, " +
		"$21::int[], $22::bytea[], $23::bytea[], $24::int[], $25::bytea[], $26::bigint[], $27::bytea[], $28::bytea[], $29::bytea[], $30::text[], "
	dueText = "SELECT * FROM graph_due($1::int[], $2::bytea[], $3::bytea[], $4::int[])"
)

// checks are statements that name all tables, columns and functions, with their types.
var checks = []string{
	readText, lockText, commitText, applyText, jointText, dueText,
	"SELECT pk = ''::bytea, rev = 0::bigint, data = ''::bytea, graph = ''::bytea, title = ''::bytea, version = 0::bigint, status = 0::bigint, " +
		"created = 0::bigint, updated = 0::bigint, wake = 0::bigint FROM graph_thread",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_record",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_log",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_write",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_message",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_version",
	"SELECT pk = ''::bytea FROM graph_index",
	"SELECT pk = ''::bytea, rev = 0::bigint, data = ''::bytea FROM graph_item",
	"SELECT pk = ''::bytea, data = ''::bytea FROM graph_entry",
	"SELECT pk = ''::bytea, name = ''::bytea, vec = '{}'::real[] FROM graph_vector",
	"SELECT pk = ''::bytea, thread = ''::bytea, version = 0::bigint, seq = 0::bigint, state_json = '{}'::jsonb FROM graph_state",
}

// readRows returns the statement that reads ranges.
func readRows(lock bool, ranges []rows.Range) (text string, args []any) {
	if lock {
		return lockText, rangeArgs(ranges)
	}
	items := make([]int32, len(ranges))
	for i := range ranges {
		items[i] = int32(ranges[i].Items)
	}
	return readText, append(rangeArgs(ranges), items)
}

// rangeArgs returns ranges as arguments: kinds, keys from and to, and limits.
func rangeArgs(ranges []rows.Range) []any {
	n := len(ranges)
	kinds, from, to, limits := make([]int32, n), make([][]byte, n), make([][]byte, n), make([]int32, n)
	for i := range ranges {
		r := &ranges[i]
		kinds[i], limits[i] = kind(r.Table, r.Reverse), int32(r.Limit)
		if r.Items > 0 {
			kinds[i] = 2 * int32(rows.Tables)
		}
		from[i], to[i] = bounds(r)
	}
	return []any{kinds, from, to, limits}
}

// kind returns a table and a flag as one number, as the statements take them: twice the number of
// the table, plus the flag.
func kind(t rows.Table, is bool) int32 {
	if is {
		return 2*int32(t) + 1
	}
	return 2 * int32(t)
}

// bounds returns the keys that a range is from and to.
func bounds(r *rows.Range) (from, to []byte) {
	if r.To == nil {
		return r.Bytes, append(slices.Clone(r.Bytes), 0)
	}
	return r.Bytes, r.To
}

// applyChange returns the statement that stores a change.
func applyChange(c *rows.Change) (text string, args []any) {
	if isCommit(c) {
		p, k := &c.Puts[0], &c.Checks[0]
		return commitText, []any{[]byte(k.Thread), int64(k.Rev), int32(p.Table), p.Bytes, p.Value}
	}
	deletes := len(c.Deletes)
	tables, from, to := make([]int32, deletes), make([][]byte, deletes), make([][]byte, deletes)
	for i := range c.Deletes {
		tables[i] = int32(c.Deletes[i].Table)
		from[i], to[i] = bounds(&c.Deletes[i])
	}
	kinds, keys, data := make([]int32, 0, len(c.Puts)), make([][]byte, 0, len(c.Puts)), make([][]byte, 0, len(c.Puts))
	state, stateKey, json := new(rows.Columns), []byte{}, ""
	for i := range c.Puts {
		p := &c.Puts[i]
		switch p.Table {
		case rows.Threads, rows.Items:
		case rows.States:
			state, stateKey, json = p.Columns, p.Bytes, string(p.Value)
		default:
			kinds, keys, data = append(kinds, kind(p.Table, p.New)), append(keys, p.Bytes), append(data, notNil(p.Value))
		}
	}
	text = applyText
	if c.Joint {
		text = jointText
	}
	args = append(threadArgs(c), tables, from, to, kinds, keys, data, stateKey, int64(state.Version), int64(state.Seq), json)
	return text, slices.Concat(args, rangeArgs(c.Reads), itemArgs(c), vectorArgs(c))
}

// notNil returns b. nil would be NULL in an array.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// isCommit reports whether graph_commit can store a change.
func isCommit(c *rows.Change) bool {
	if len(c.Checks) != 1 || len(c.Puts) != 1 || len(c.Deletes)+len(c.Reads) > 0 || c.Checks[0].Rev == 0 {
		return false
	}
	p := &c.Puts[0]
	return p.New && c.Checks[0].Table == rows.Threads && p.Table != rows.Index && p.Table != rows.States
}

// threadArgs returns the arguments about the threads that a change checks.
func threadArgs(c *rows.Change) []any {
	checks := slices.DeleteFunc(sqlsaver.Sorted(c), func(k rows.Check) bool { return k.Table != rows.Threads })
	n := len(checks)
	var bytes [4][][]byte  // key, data, graph, title
	var numbers [6][]int64 // rev, version, status, created, updated, wake
	for i := range bytes {
		bytes[i] = slices.Repeat([][]byte{{}}, n)
	}
	for i := range numbers {
		numbers[i] = make([]int64, n)
	}
	threads := sqlsaver.Revised(c)
	for i, k := range checks {
		bytes[0][i], numbers[0][i] = []byte(k.Thread), int64(k.Rev)
		p := threads[k]
		if p == nil {
			continue
		}
		t := p.Columns
		bytes[1][i], bytes[2][i], bytes[3][i] = p.Value, []byte(t.Graph), []byte(t.Title)
		numbers[1][i], numbers[2][i] = int64(t.Version), int64(t.Status)
		numbers[3][i], numbers[4][i], numbers[5][i] = sqlsaver.Micro(t.Created), sqlsaver.Micro(t.Updated), sqlsaver.Micro(t.Wake)
	}
	return []any{
		bytes[0], numbers[0], bytes[1], bytes[2], bytes[3], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
	}
}

// itemArgs returns the arguments about the items that a change checks.
func itemArgs(c *rows.Change) []any {
	keys, revs, data := [][]byte{}, []int64{}, [][]byte{}
	puts := sqlsaver.Revised(c)
	for _, k := range sqlsaver.Sorted(c) {
		if k.Table != rows.Items {
			continue
		}
		value := []byte{}
		if p := puts[k]; p != nil {
			value = p.Value
		}
		keys, revs, data = append(keys, []byte(k.Thread)), append(revs, int64(k.Rev)), append(data, value)
	}
	return []any{keys, revs, data}
}

// vectorArgs returns the arguments about the vectors of the rows that a change puts.
func vectorArgs(c *rows.Change) []any {
	keys, names, vectors := [][]byte{}, [][]byte{}, []string{}
	for i := range c.Puts {
		p := &c.Puts[i]
		if !rows.HasVector(p.Key) {
			continue
		}
		v, err := (&rows.Row{Key: p.Bytes, Value: p.Value}).Vector()
		if err != nil {
			continue // a Saver puts no such rows
		}
		text := []byte{'{'}
		for i, x := range v.Values {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendFloat(text, float64(x), 'g', -1, 32)
		}
		keys, names, vectors = append(keys, p.Bytes), append(names, []byte(v.Index)), append(vectors, string(append(text, '}')))
	}
	return []any{keys, names, vectors}
}

// due returns the statement that locks the threads of queues.
func due(queues []rows.Queue) (text string, args []any) {
	n := len(queues)
	ids, from, to, limits := make([]int32, n), make([][]byte, n), make([][]byte, n), make([]int32, n)
	for i := range queues {
		q := &queues[i]
		ids[i], from[i], to[i], limits[i] = int32(q.ID), q.Bytes, q.To, int32(q.Limit)
	}
	return dueText, []any{ids, from, to, limits}
}

package sqlsaver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// statement identifies a statement. The files of each dialect have it under the name that
// signatures gives.
type statement int

// The statements of the store that only read.
const (
	stStoreGet statement = iota
	stStoreFind
	stStoreFindIn
	stStoreNamespace
	stStoreVectors
	stStoreSearch
	stStoreWords
	stStoreDeclared
	reads // their number
)

// The statements of the store that write, or lock what will be written.
const (
	stStoreNow = reads + iota
	stStoreLock
	stStoreLockAll
	stStoreInsert
	stStoreUpdate
	stStoreTouch
	stStoreInsertEntry
	stStoreRemoveEntry
	stStorePutVector
	stStoreDropVector
	stStorePutWords
	stStoreDropWords
	stStoreDeclare
	stStoreUsed
	stStoreUsedAll
	stStoreUse
	stStoreExpired
	stStorePurge
	stStoreForget
	prepared // the number of statements that are prepared when a store is opened
)

// The statements that make and check the tables.
const (
	stHasSchema = prepared + iota
	stSchemaVersion
	stInsertSchemaVersion
	stHasStoreSchema
	stStoreSchemaVersion
	stInsertStoreSchemaVersion
	stLockSchema
	stUnlockSchema
	stDropTables
	stDropFunctions
	statements // the number of all statements
)

// query is a statement as a dialect has it.
type query struct {
	text  string // empty if the dialect lacks it
	order []int  // the argument of each value that text binds; nil if they are the arguments in order
}

// bind returns the values to bind for the arguments of a call.
func (q *query) bind(args []any) []any {
	if q.order == nil {
		return args
	}
	values := make([]any, len(q.order))
	for i, n := range q.order {
		values[i] = args[n]
	}
	return values
}

// Statements are the statements of a dialect.
type Statements [statements]query

// Load returns a function that reads the statements in the folder queries of files. Only its first
// call reads them, because all savers of a process can use the same ones.
func Load(files fs.FS) func() (*Statements, error) {
	return sync.OnceValues(func() (*Statements, error) {
		folder, err := fs.Sub(files, "queries")
		if err != nil {
			return nil, err
		}
		return load(folder)
	})
}

// load reads the statements of a dialect. The error names every statement that is missing, unknown
// or there twice, or whose parameters are not those that the program binds.
func load(folder fs.FS) (*Statements, error) {
	queries, err := Queries(folder)
	if err != nil {
		return nil, err
	}
	all := new(Statements)
	byName := make(map[string]*Query, len(queries))
	var errs []error
	for i := range queries {
		q := &queries[i]
		if byName[q.Name] != nil {
			errs = append(errs, fmt.Errorf("%s: there are two statements of this name", q.Name))
		}
		byName[q.Name] = q
	}
	for st, want := range signatures() {
		q := byName[want.name]
		delete(byName, want.name)
		switch {
		case q != nil:
			all[st], err = q.as(nameList(want.parameters))
			errs = append(errs, err)
		case !want.optional:
			errs = append(errs, fmt.Errorf("%s: there is no such statement", want.name))
		}
	}
	for name := range byName {
		errs = append(errs, fmt.Errorf("%s: the program has no use for this statement", name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

// as returns q for a program that binds these parameters.
func (q *Query) as(parameters []string) (query, error) {
	if slices.Equal(q.Parameters, parameters) {
		return query{text: q.Text}, nil
	}
	order := make([]int, len(q.Parameters))
	used := make(map[int]bool)
	for i, name := range q.Parameters {
		order[i] = slices.Index(parameters, name)
		used[order[i]] = true
	}
	if used[-1] || len(used) < len(parameters) {
		return query{}, fmt.Errorf("%s: it has the parameters %q, and the program binds %q", q.Name, q.Parameters, parameters)
	}
	return query{text: q.Text, order: order}, nil
}

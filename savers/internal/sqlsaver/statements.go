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

// The statements. They make and check the tables.
const (
	stHasSchema statement = iota
	stSchemaVersion
	stInsertSchemaVersion
	stLockSchema
	stUnlockSchema
	stDropTables
	stDropFunctions
	statements // their number
)

// Statements are the texts of the statements of a dialect; empty for those that it lacks.
type Statements [statements]string

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
			if all[st] = q.Text; !slices.Equal(q.Parameters, nameList(want.parameters)) {
				errs = append(errs, fmt.Errorf("%s: it has the parameters %q, and the program binds %q", q.Name, q.Parameters, nameList(want.parameters)))
			}
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

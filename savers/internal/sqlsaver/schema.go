package sqlsaver

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Mode says what opening a saver does about tables.
type Mode int

// The modes.
const (
	Create   Mode = iota // make missing tables, bring old ones up to date
	Verify               // change nothing: fail unless the tables exist and are up to date
	ReadOnly             // as Verify, by a transaction that only reads; calls that write are ErrReadOnly
	Recreate             // drop all tables of savers and stores, with all their rows, and make them again
)

// Files returns the folder schema of the files that a saver embeds.
func Files(embedded embed.FS) fs.FS {
	files, err := fs.Sub(embedded, "schema")
	if err != nil { // the name is a valid one
		return embedded
	}
	return files
}

// tables is a list of versions of tables. folder has a file of statements for each version, in
// order, with an empty line after each statement. A file is named for its version: 0024_tables.sql
// makes the tables of version 24, and a file after it changes them. Where statements that change
// tables are not part of a transaction, each must be harmless when it runs again.
type tables struct {
	name, folder           string
	found, version, insert statement // about the table that has a row for each file that has run
}

// saverTables are the tables that every saver has.
func saverTables() tables {
	return tables{"the tables", "schema", stHasSchema, stSchemaVersion, stInsertSchemaVersion}
}

// migrate brings tables to the newest version. Tables that are older than the first file are an
// error.
func (s *Database) migrate(ctx context.Context, t tables, mode Mode) error {
	files, err := fs.Sub(s.d.Files, t.folder)
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("%s: no migrations", s.d.Name), err)
	}
	slices.Sort(names)
	change := func(ctx context.Context, f func(tx Tx) error) error { return s.write(ctx, RolledBack, f) }
	if mode == ReadOnly {
		change = s.read
	}
	err = change(ctx, func(tx Tx) error {
		m := migration{s: s, tx: tx, of: t, files: files, names: names}
		return m.locked(ctx, mode)
	})
	return s.wrap(ctx, "schema", err)
}

// migration makes tables, or those columns and indexes that they lack, in one transaction.
type migration struct {
	s     *Database
	tx    Tx
	of    tables
	files fs.FS
	names []string
}

// locked does what mode says while no other process does.
func (m *migration) locked(ctx context.Context, mode Mode) (err error) {
	if m.s.has(stLockSchema) {
		var got int64
		if _, err := m.s.one(ctx, m.tx, stLockSchema, nil, &got); err != nil {
			return err
		}
		if got != 1 {
			return errors.New("another process is changing the tables: try again when it is done")
		}
	}
	if m.s.has(stUnlockSchema) {
		defer func() { err = errors.Join(err, m.unlock(ctx)) }()
	}
	if mode == Recreate {
		if err := m.drop(ctx); err != nil {
			return err
		}
	}
	version, err := m.version(ctx)
	if err != nil {
		return err
	}
	for _, name := range m.names {
		if err := m.bring(ctx, name, &version, mode); err != nil {
			return err
		}
	}
	if newest := m.names[len(m.names)-1]; version > versionOf(newest) {
		return fmt.Errorf("%s are of version %d, and this program knows %d: update the program", m.of.name, version, versionOf(newest))
	}
	return nil
}

// unlock lets other processes change tables again.
func (m *migration) unlock(ctx context.Context) error {
	rows, err := m.s.query(ctx, m.tx, stUnlockSchema)
	if err != nil {
		return err
	}
	return each(rows, func(Rows) error { return nil })
}

// drop drops all that the files of schema make.
func (m *migration) drop(ctx context.Context) error {
	for _, st := range [...]statement{stDropFunctions, stDropTables} {
		if !m.s.has(st) {
			continue
		}
		if _, err := m.s.exec(ctx, m.tx, st); err != nil {
			return err
		}
	}
	return nil
}

// bring applies a file of the schema, unless the tables have its version already. It returns an
// error if the mode forbids the change, or if the tables are older than the first file.
func (m *migration) bring(ctx context.Context, name string, version *int, mode Mode) error {
	next := versionOf(name)
	switch {
	case *version >= next:
		return nil
	case *version > 0 && name == m.names[0]:
		return fmt.Errorf("%s are of version %d, and this program reads version %d and later: "+
			"finish or copy their threads with the program that made them, and begin with new tables", m.of.name, *version, next)
	case mode == Verify || mode == ReadOnly:
		return fmt.Errorf("%s are of version %d, and this program wants %d: run %s, or open in the mode that creates", m.of.name, *version, next, name)
	}
	if err := m.apply(ctx, name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*version = next
	return nil
}

// versionOf returns the version that a file makes. The name of the file begins with it.
func versionOf(name string) int {
	number, _, _ := strings.Cut(name, "_")
	version, err := strconv.Atoi(number)
	if err != nil { // the files are embedded, and tests open them
		return 0
	}
	return version
}

// version returns the version of the tables, 0 if there are none.
func (m *migration) version(ctx context.Context) (int, error) {
	var tables, version int64
	_, err := m.s.one(ctx, m.tx, m.of.found, nil, &tables)
	if err == nil && tables > 0 {
		_, err = m.s.one(ctx, m.tx, m.of.version, nil, &version)
	}
	return int(version), err
}

// apply runs the statements of a file.
func (m *migration) apply(ctx context.Context, name string) error {
	b, err := fs.ReadFile(m.files, name)
	if err != nil {
		return err
	}
	for _, text := range strings.Split(string(b), ";\n\n") {
		if text = strings.TrimSuffix(strings.TrimSpace(text), ";"); text == "" {
			continue
		}
		if _, err := m.tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	_, err = m.s.exec(ctx, m.tx, m.of.insert, int64(versionOf(name)))
	return err
}

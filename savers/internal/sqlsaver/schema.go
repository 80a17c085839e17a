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
	Create   Mode = iota // make what is missing, bring what is old up to date
	Verify               // change nothing: fail unless the tables are there and up to date
	Recreate             // drop all tables of savers, with all they hold, and make them anew
)

// tables are those of a saver, in an order in which they can be dropped.
func tables() []string {
	return []string{
		"graph_state", "graph_write", "graph_checkpoint", "graph_line", "graph_log", "graph_version", "graph_thread", "graph_schema",
	}
}

// Files returns what Migrate takes of what a saver embeds: the folder schema.
func Files(embedded embed.FS) fs.FS {
	files, err := fs.Sub(embedded, "schema")
	if err != nil { // the name is a valid one
		return embedded
	}
	return files
}

// Migrate brings a database's tables to the newest version. files has a file of statements for each version, in order,
// with an empty line after each statement. A file is named for its version: 0002_tables.sql makes the tables of version 2,
// and a file after it changes them. Tables that are older than the first file are an error. Where statements that change
// tables are no part of a transaction, each must be harmless when it is run again.
func Migrate(ctx context.Context, db DB, d *Dialect, files fs.FS, mode Mode) error {
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("%s: no migrations", d.Name), err)
	}
	slices.Sort(names)
	s := &Saver{db: db, d: d, patience: DefaultPatience}
	err = s.write(ctx, RolledBack, func(tx Tx) error {
		m := migration{tx: tx, d: d, files: files, names: names}
		return m.locked(ctx, mode)
	})
	return s.wrap(ctx, "schema", err)
}

type migration struct {
	tx    Tx
	d     *Dialect
	files fs.FS
	names []string
}

// locked does what mode says while no other process does.
func (m *migration) locked(ctx context.Context, mode Mode) (err error) {
	if m.d.LockSchema != "" {
		var got int64
		if _, err := one(ctx, m.tx, m.d.LockSchema, nil, &got); err != nil {
			return err
		}
		if got != 1 {
			return errors.New("another process is changing the tables: try again when it is done")
		}
	}
	if m.d.UnlockSchema != "" {
		defer func() { err = errors.Join(err, m.query(ctx, m.d.UnlockSchema)) }()
	}
	if mode == Recreate {
		for _, text := range m.d.DropFirst {
			if err := m.exec(ctx, text); err != nil {
				return err
			}
		}
		for _, table := range tables() {
			if err := m.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
				return err
			}
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
		return fmt.Errorf("the tables are of version %d, and this program knows %d: update the program", version, versionOf(newest))
	}
	return nil
}

// bring brings tables to the version of a file.
func (m *migration) bring(ctx context.Context, name string, version *int, mode Mode) error {
	next := versionOf(name)
	switch {
	case *version >= next:
		return nil
	case *version > 0 && name == m.names[0]:
		return fmt.Errorf("the tables are of version %d, and this program reads version %d and later: "+
			"finish or copy their threads with the program that made them, and begin with new tables", *version, next)
	case mode == Verify:
		return fmt.Errorf("the tables are of version %d, and this program wants %d: run %s, or open in the mode that creates", *version, next, name)
	}
	if err := m.apply(ctx, name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*version = next
	return nil
}

// versionOf returns the version that a file makes; the name begins with it.
func versionOf(name string) int {
	number, _, _ := strings.Cut(name, "_")
	version, err := strconv.Atoi(number)
	if err != nil { // the files are embedded, and tests open them
		return 0
	}
	return version
}

// version returns the version of the tables that there are, 0 for none.
func (m *migration) version(ctx context.Context) (int, error) {
	var version int64
	there, err := one(ctx, m.tx, m.d.text(m.d.HasTable), []any{"graph_schema"}, &version)
	if err == nil && there {
		_, err = one(ctx, m.tx, "SELECT COALESCE(MAX(version), 0) FROM graph_schema", nil, &version)
	}
	if !there {
		return 0, err
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
		if err := m.exec(ctx, text); err != nil {
			return err
		}
	}
	return m.exec(ctx, "INSERT INTO graph_schema (version) VALUES ("+strconv.Itoa(versionOf(name))+")")
}

func (m *migration) exec(ctx context.Context, text string) error {
	_, err := m.tx.Exec(ctx, text)
	return err
}

// query runs a statement whose rows do not matter.
func (m *migration) query(ctx context.Context, text string) error {
	rows, err := m.tx.Query(ctx, text)
	if err != nil {
		return err
	}
	return each(rows, func(Rows) error { return nil })
}

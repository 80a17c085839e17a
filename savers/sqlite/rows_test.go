package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/rows"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

type rowSaver struct {
	*rows.Saver
	s *Saver
}

func (r rowSaver) Close() error {
	err := r.Saver.Close()
	if e := r.s.Close(); err == nil {
		err = e
	}
	return err
}

func openRows(path string, opts ...Option) (checkpoint.Saver, error) {
	s, err := Open(path, opts...)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", fileURL(path, nil))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for t := range rows.Tables {
		cols := "data BLOB NOT NULL"
		switch rows.Table(t) {
		case rows.Threads:
			cols = "rev INTEGER NOT NULL, data BLOB NOT NULL, graph TEXT NOT NULL, title TEXT NOT NULL, status INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, wake INTEGER NOT NULL"
		case rows.Index:
			cols = ""
		}
		if cols != "" {
			cols = ", " + cols
		}
		if _, err := db.Exec("CREATE TABLE IF NOT EXISTS graph_row_" + rows.Table(t).String() + " (pk BLOB NOT NULL PRIMARY KEY" + cols + ") WITHOUT ROWID"); err != nil {
			return nil, err
		}
	}
	store := sqlsaver.NewRowStore(s.Saver, &sqlsaver.Syntax{
		Place:  func(n int) string { return fmt.Sprint("?", n) },
		Upsert: " ON CONFLICT (pk) DO UPDATE SET data = excluded.data",
		Ignore: " ON CONFLICT DO NOTHING",
	})
	return rowSaver{rows.New("sqlite", store, rows.Options{}), s}, nil
}

func sqlExec(path, text string, args ...any) (int, error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	res, err := db.Exec(text, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

func TestRows(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		path := filepath.Join(tb.TempDir(), "threads.db")
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) { return openRows(path) }, Damage: func(string) error {
			_, err := sqlExec(path, "UPDATE graph_row_write SET data = x'7f'")
			return err
		}, Alter: func(tb testing.TB, stored, altered []byte) (n int) {
			for _, table := range []string{"graph_row_record", "graph_row_write"} {
				got, err := sqlExec(path, "UPDATE "+table+" SET data = unhex(replace(hex(data), hex(?1), hex(?2))) WHERE instr(data, ?1) > 0", stored, altered)
				if err != nil {
					tb.Fatal(err)
				}
				n += got
			}
			return n
		}}
	})
}

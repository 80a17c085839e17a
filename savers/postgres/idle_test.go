package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// slowText is an argument that takes longer to encode than the server waits for a small one.
type slowText struct{}

func (slowText) TextValue() (pgtype.Text, error) {
	time.Sleep(sqlsaver.IdleLimit + time.Second/2)
	return pgtype.Text{String: "late", Valid: true}, nil
}

// Between the first answer of the server and the first byte that it gets next, the client encodes
// the next statement. With large values on a slow machine that takes seconds, in which the server
// takes the client for idle.
func TestALargeValueHasTimeToBeEncoded(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	tx, err := (&db{pool}).Begin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "create table late (t text, b bytea)"); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("b"), 3<<19)
	if err := tx.Later(t.Context(), nil, "insert into late values ($1, $2)", "soon", large[:1<<19]); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "insert into late values ($1, $2)", slowText{}, large[1<<19:]); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

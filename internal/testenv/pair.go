package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pair is a primary and a standby that runs alongside it. A commit of the primary returns when the
// standby has it. So what the primary acknowledged survives its end, although it does not sync.
type Pair struct {
	Primary, Standby *Server

	promote func(standby *Server) error
}

// Promote makes the standby a primary. The primary must have ended.
func (p *Pair) Promote() error {
	if err := p.promote(p.Standby); err != nil {
		return fmt.Errorf("testenv: promote a %s: %w", p.Standby.kind.name, err)
	}
	return nil
}

// StartPostgresPair starts two PostgreSQL servers for this test only.
func StartPostgresPair(tb testing.TB) *Pair {
	tb.Helper()
	primary := own(tb, postgres(false))
	k := postgres(false)
	k.setup = func(s *Server) []string {
		return []string{"pg_basebackup", "-d", primary.DSN, "-D", s.path("data"), "-R", "--checkpoint=fast", "--no-sync"}
	}
	standby := own(tb, k)
	// The setting of all roles is stronger than that of the command line.
	execPostgres(tb, primary.DSN, "ALTER ROLE ALL SET synchronous_commit = on")
	execPostgres(tb, primary.DSN, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	execPostgres(tb, primary.DSN, "SELECT pg_reload_conf()")
	wait(tb, "the standby is synchronous", func() bool {
		err := queryPostgres(primary, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
		return err == nil
	})
	return &Pair{primary, standby, func(s *Server) error { return queryPostgres(s, "SELECT pg_promote()") }}
}

// queryPostgres returns an error unless the result of a query is true.
func queryPostgres(s *Server, query string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // the result of the query matters
	var ok bool
	if err = conn.QueryRow(ctx, query).Scan(&ok); err == nil && !ok {
		err = errors.New(query + ": false")
	}
	return err
}

// StartMariaDBPair starts two MariaDB servers for this test only, with semi-synchronous
// replication.
func StartMariaDBPair(tb testing.TB) *Pair {
	tb.Helper()
	with := func(more ...string) kind {
		k := mariadb(false)
		run := k.run
		k.run = func(s *Server) []string { return append(run(s), more...) }
		return k
	}
	primary := own(tb, with("--server-id=1", "--log-bin=log", "--rpl-semi-sync-master-enabled=ON",
		"--rpl-semi-sync-master-wait-point=AFTER_SYNC", fmt.Sprint("--rpl-semi-sync-master-timeout=", (10*patience).Milliseconds())))
	standby := own(tb, with("--server-id=2", "--read-only=ON", "--rpl-semi-sync-slave-enabled=ON"))
	execMySQL(tb, standby.DSN, "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = "+primary.port(0)+", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos")
	execMySQL(tb, standby.DSN, "START SLAVE")
	wait(tb, "the standby is synchronous", func() bool {
		clients, err := askMySQL(primary, "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'", "Value")
		return err == nil && clients == "1"
	})
	return &Pair{primary, standby, promoteMariaDB}
}

// promoteMariaDB applies what the standby has got, and lets it take writes.
func promoteMariaDB(s *Server) error {
	got, err := askMySQL(s, "SHOW SLAVE STATUS", "Gtid_IO_Pos")
	if err != nil {
		return err
	}
	wait := fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', %d) AS late", got, int(patience.Seconds()))
	if late, err := askMySQL(s, wait, "late"); err != nil || late != "0" {
		return fmt.Errorf("it has not applied %q: %s, %w", got, late, err)
	}
	_, err = askMySQL(s, "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF; SELECT 1 AS done", "done")
	return err
}

// askMySQL returns one column of the row that a query returns.
func askMySQL(s *Server, query, column string) (string, error) {
	db, err := sql.Open("mysql", s.DSN+"?multiStatements=true")
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }() // the result of the query matters
	rows, err := db.Query(query)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	row := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	if !rows.Next() {
		return "", errors.Join(errors.New(query+": no row"), rows.Err())
	}
	if err := rows.Scan(into...); err != nil {
		return "", err
	}
	return row[slices.Index(columns, column)].String, nil
}

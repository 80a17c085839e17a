package testenv

import (
	"database/sql"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mariadb describes a MariaDB server. Its user root has no password.
func mariadb(durable bool) kind {
	return kind{
		name:  "MariaDB",
		needs: []string{"mariadbd", "mariadb-install-db"},
		users: []string{"mysql", "nobody"},
		ports: 1,
		setup: func(s *Server) []string {
			return []string{"mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
				"--skip-test-db", "--datadir=" + s.path("data")}
		},
		run: func(s *Server) []string {
			args := []string{"mariadbd", "--no-defaults", "--datadir=" + s.path("data"), "--socket=" + s.path("sock"),
				"--port=" + s.port(0), "--bind-address=127.0.0.1", "--pid-file=" + s.path("pid"),
				"--tmpdir=" + s.dir, // a starting server removes the temporary tables in the folder, including those of other servers
				"--skip-name-resolve", "--character-set-server=utf8mb4", "--innodb-buffer-pool-size=64M",
				"--innodb-log-file-size=64M", "--performance-schema=OFF", "--max-connections=300", "--max-allowed-packet=64M"}
			if durable {
				return append(args, "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
			}
			return append(args, "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-doublewrite=0",
				"--innodb-flush-method=nosync")
		},
		dsn:   func(s *Server) string { return "root@tcp(" + s.Addr + ")/" },
		ready: greets,
		end:   syscall.SIGTERM,
	}
}

// greets reports whether a MariaDB sends its greeting: four bytes of length and number, and the
// protocol version.
func greets(s *Server) error {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var greeting [5]byte
	err = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if err == nil {
		_, err = io.ReadFull(conn, greeting[:])
	}
	if err == nil && greeting[4] != 10 {
		err = fmt.Errorf("it greets with protocol %d, want 10", greeting[4])
	}
	return err
}

// newDatabase creates a database for a test and returns its DSN.
func newDatabase(tb testing.TB, dsn string) string {
	tb.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatalf("testenv: %s: %v", mysqlVariable, err)
	}
	db := name()
	execMySQL(tb, dsn, "CREATE DATABASE "+db+" CHARACTER SET utf8mb4")
	tb.Cleanup(func() { execMySQL(tb, dsn, "DROP DATABASE "+db) })
	config.DBName = db
	return config.FormatDSN()
}

func execMySQL(tb testing.TB, dsn, statement string) {
	tb.Helper()
	db, err := sql.Open("mysql", dsn)
	if err == nil {
		defer func() { _ = db.Close() }() // the result of the statement matters
		_, err = db.Exec(statement)
	}
	if err != nil {
		tb.Fatalf("testenv: MySQL: %s: %v", statement, err)
	}
}

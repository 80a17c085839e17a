package testenv

import (
	"os"
	"syscall"
)

// mysqldVariable is the environment variable with the path of a mysqld to run instead of MariaDB.
const mysqldVariable = "GRAPHGEN_TEST_MYSQLD"

// ownMySQL describes the server for MySQL tests: a MariaDB, or the program in mysqldVariable.
func ownMySQL(durable bool) kind {
	if program := os.Getenv(mysqldVariable); program != "" {
		return mysqld(program, durable)
	}
	return mariadb(durable)
}

// mysqld describes a MySQL server of version 8.0 or later. Its user root has no password. Options
// that some versions lack are loose.
func mysqld(program string, durable bool) kind {
	k := mariadb(durable)
	k.name, k.needs = "MySQL", []string{program}
	command := func(s *Server) []string {
		return []string{program, "--no-defaults", "--datadir=" + s.path("data"), "--secure-file-priv=NULL", "--tmpdir=" + s.dir}
	}
	k.setup = func(s *Server) []string { return append(command(s), "--initialize-insecure") } //nolint:misspell // it is spelled so
	k.run = func(s *Server) []string {
		args := append(command(s), "--socket="+s.path("sock"), "--port="+s.port(0), "--bind-address=127.0.0.1", "--pid-file="+s.path("pid"),
			"--loose-mysqlx=OFF", "--innodb-buffer-pool-size=64M", "--performance-schema=OFF", "--max-connections=300", "--max-allowed-packet=64M")
		if durable {
			return append(args, "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
		}
		return append(args, "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--innodb-doublewrite=0")
	}
	k.end = syscall.SIGKILL // other signals take long, and its data is removed anyway
	return k
}

package mysql_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// hostile are settings of a server that change what statements mean, which rows they find, or
// whether they are allowed. Each value of sql_mode has a group, which costs a run of the cases.
// The other settings are spread over the groups.
var hostile = map[string][]string{
	"ansi": {
		"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION'",
		"sql_select_limit = 2", "max_join_size = 2", "sql_safe_updates = 1", "max_sort_length = 64", "group_concat_max_len = 4",
		"TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
	},
	"no mode": {
		"sql_mode = ''", "explicit_defaults_for_timestamp = 1", "sql_auto_is_null = 1", "unique_checks = 0",
		"autocommit = 0", "completion_type = 2", "innodb_lock_wait_timeout = 1",
		"character_set_server = latin1", "collation_server = latin1_german2_ci", "character_set_connection = latin1",
		"time_zone = '+05:45'", "lc_time_names = 'de_DE'", "div_precision_increment = 0",
	},
}

// onlyMariaDB are settings that MySQL does not have.
var onlyMariaDB = map[string][]string{
	"oracle": {
		"sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT,TIME_ROUND_FRACTIONAL'",
		"old_mode = 'NO_DUP_KEY_WARNINGS_WITH_IGNORE'", "max_recursive_iterations = 0", "in_predicate_conversion_threshold = 1",
	},
}

func TestHostileSettings(t *testing.T) {
	server := testenv.StartMySQL(t, false)
	var version string
	if err := database(t, server.DSN).QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	for name, settings := range hostile {
		t.Run(name, func(t *testing.T) { underSettings(t, server, settings) })
	}
	if !strings.Contains(version, "MariaDB") {
		return
	}
	for name, settings := range onlyMariaDB {
		t.Run(name, func(t *testing.T) { underSettings(t, server, settings) })
	}
}

// underSettings runs cases while the settings are those of new sessions.
func underSettings(t *testing.T, server *testenv.Server, settings []string) {
	t.Helper()
	admin, err := database(t, server.DSN).Conn(t.Context()) // its session has the settings of before
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	run := func(text string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, setting := range settings {
		name, _, assigned := strings.Cut(setting, " = ")
		if !assigned {
			run("SET GLOBAL " + setting)
			defer run("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
			continue
		}
		var before string
		if err := admin.QueryRowContext(t.Context(), "SELECT @@GLOBAL."+name).Scan(&before); err != nil {
			t.Fatal(err)
		}
		run("SET GLOBAL " + setting)
		if _, err := strconv.ParseUint(before, 10, 64); err != nil {
			before = "'" + before + "'"
		}
		defer run("SET GLOBAL " + name + " = " + before)
	}
	databases := 0
	sqltest.UnderSetting(t, func(tb testing.TB) func() (checkpoint.Saver, error) {
		tb.Helper()
		databases++
		c := config(tb, server.DSN)
		c.DBName = fmt.Sprintf("case%d", databases)
		run("DROP DATABASE IF EXISTS " + c.DBName)
		run("CREATE DATABASE " + c.DBName + " CHARACTER SET utf8mb4")
		return func() (checkpoint.Saver, error) { return mysql.Open(tb.Context(), c.FormatDSN()) }
	})
}

// TestADemotedServer has a server that takes no writes from some moment on, also in the sessions
// that it has.
func TestADemotedServer(t *testing.T) {
	var dsns, admin [2]string
	for i := range dsns {
		server := testenv.StartMySQL(t, false)
		dsn := own(t, server)
		exec(t, dsn, "CREATE USER app", "GRANT ALL ON own.* TO app") // an administrator can always write
		c := config(t, dsn)
		c.User = "app"
		dsns[i], admin[i] = c.FormatDSN(), server.DSN
	}
	sqltest.DemotedServer(t, backend(), sqltest.Failover{First: dsns[0], Second: dsns[1], Demote: func() {
		exec(t, admin[0], "SET GLOBAL read_only = 1")
	}})
}

// TestAPromotedStandby has a replica that each commit waits for.
func TestAPromotedStandby(t *testing.T) {
	pair := testenv.StartMariaDBPair(t)
	sqltest.PromotedStandby(t, backend(), own(t, pair.Primary), pair)
}

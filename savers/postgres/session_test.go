package postgres_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// hostile are settings of sessions that change what statements mean, how values are written, or
// how the server plans. Settings of different statements share a group, which costs a run of the
// cases.
var hostile = map[string]map[string]string{
	"values": {
		"bytea_output": "escape", "array_nulls": "off",
		"standard_conforming_strings": "off", "backslash_quote": "off", "escape_string_warning": "on", "client_encoding": "LATIN1",
		"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Asia/Kathmandu", "extra_float_digits": "-15",
		"lc_numeric": "C", "quote_all_identifiers": "on", "transform_null_equals": "on", "xmloption": "document",
	},
	"plans": {
		"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
		"from_collapse_limit": "1", "join_collapse_limit": "1", "geqo_threshold": "2", "work_mem": "64kB", "gin_fuzzy_search_limit": "1", "row_security": "off",
		"plpgsql.extra_errors": "all", "plpgsql.variable_conflict": "use_column", "check_function_bodies": "off",
	},
}

func TestHostileSettings(t *testing.T) {
	for name, settings := range hostile {
		t.Run(name, func(t *testing.T) {
			sqltest.UnderSetting(t, func(tb testing.TB) func() (checkpoint.Saver, error) {
				tb.Helper()
				at := testenv.Postgres(tb)
				for name, value := range settings {
					at += "&" + name + "=" + url.PathEscape(value)
				}
				return func() (checkpoint.Saver, error) { return postgres.Open(tb.Context(), at) }
			})
		})
	}
}

// TestHostileSettingsBehindAPooler changes the settings of a database while a saver is open, so
// that some sessions of the pooler have them, and others do not.
func TestHostileSettingsBehindAPooler(t *testing.T) {
	sqltest.UnderSetting(t, func(tb testing.TB) func() (checkpoint.Saver, error) {
		tb.Helper()
		at := testenv.PostgresPooler(tb)
		database := strings.TrimPrefix(parse(tb, at).Path, "/")
		return func() (checkpoint.Saver, error) {
			s, err := postgres.Open(tb.Context(), at)
			for _, setting := range []string{"bytea_output = 'escape'", "array_nulls = off", "standard_conforming_strings = off", "extra_float_digits = -15"} {
				exec(tb, at, "ALTER DATABASE "+database+" SET "+setting)
			}
			return s, err
		}
	})
}

// TestAReadableStateIsUTF8 has sessions of another encoding.
func TestAReadableStateIsUTF8(t *testing.T) {
	dsn := testenv.Postgres(t)
	open := func(decode ...func([]byte) ([]byte, error)) (checkpoint.Saver, error) {
		return postgres.Open(t.Context(), dsn+"&client_encoding=LATIN1", postgres.ReadableState(decode...))
	}
	conn := connect(t, dsn)
	sqltest.ReadableState(t, open, func(thread string) (status string, seq int64) { return readState(t, conn, thread) })
}

// A session that takes no writes is refused by name: the server may be a standby, which another
// call finds to be the primary again.
func TestSessionsThatTakeNoWritesAreRefusedByName(t *testing.T) {
	at := testenv.Postgres(t)
	made, err := postgres.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	steps := sqltest.OneStep(t, "t", nil)
	for _, a := range steps {
		if _, err := made.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	head := steps[1].Records[0].ID
	for _, opts := range [][]postgres.Option{nil, {postgres.PrepareStatements()}} {
		s, err := postgres.Open(t.Context(), at+"&default_transaction_read_only=on", append(opts, postgres.RetryTimeout(time.Millisecond))...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
			t.Errorf("a load: %v", err)
		}
		for what, err := range map[string]error{"release": release(t, s, head), "post": post(t, s)} {
			if err == nil || !strings.Contains(err.Error(), "default_transaction_read_only") || !errors.Is(err, checkpoint.ErrUnavailable) {
				t.Errorf("%s: got %v, want ErrUnavailable that names default_transaction_read_only", what, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func release(t *testing.T, s checkpoint.Saver, head checkpoint.ID) error {
	t.Helper()
	_, err := s.Release(t.Context(), "t", head)
	return err
}

func post(t *testing.T, s checkpoint.Inbox) error {
	t.Helper()
	_, err := s.Post(t.Context(), checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: "new", Kind: checkpoint.InputMessage, Payload: []byte{1}}}})
	return err
}

// TestADemotedServer has a server that takes no writes from some moment on, also in the sessions
// that it has.
func TestADemotedServer(t *testing.T) {
	first, second := testenv.StartPostgres(t, false).DSN, testenv.StartPostgres(t, false).DSN
	sqltest.DemotedServer(t, backend(), sqltest.Failover{First: first, Second: second, Demote: func() {
		exec(t, first, "ALTER SYSTEM SET default_transaction_read_only = on")
		exec(t, first, "SELECT pg_reload_conf()")
	}})
}

// TestAPromotedStandby has a standby that each commit waits for.
func TestAPromotedStandby(t *testing.T) {
	pair := testenv.StartPostgresPair(t)
	sqltest.PromotedStandby(t, backend(), pair.Primary.DSN, pair)
}

// TestOpenChecksThatFunctionsMayBeExecuted has a user with rights to the tables alone.
func TestOpenChecksThatFunctionsMayBeExecuted(t *testing.T) {
	at := testenv.Postgres(t)
	made, err := postgres.Open(t.Context(), at)
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, at)
	schema := u.Query().Get("search_path")
	role := schema + "_app"
	exec(t, at, "CREATE ROLE "+role+" LOGIN PASSWORD 'app'; GRANT USAGE ON SCHEMA "+schema+" TO "+role+
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema+" TO "+role+
		"; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA "+schema+" FROM PUBLIC")
	defer exec(t, at, "DROP OWNED BY "+role+"; DROP ROLE "+role)
	u.User = url.UserPassword(role, "app")
	if _, err := postgres.Open(t.Context(), u.String(), postgres.VerifySchema()); err == nil || !strings.Contains(err.Error(), "GRANT EXECUTE") {
		t.Errorf("got %v, want an error that says GRANT EXECUTE", err)
	}
	exec(t, at, "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "+schema+" TO "+role)
	s, err := postgres.Open(t.Context(), u.String(), postgres.VerifySchema())
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Exercise(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLiteralsDoNotDependOnASetting looks for literals with a backslash that are not of the form
// E'...'.
func TestLiteralsDoNotDependOnASetting(t *testing.T) {
	plain := regexp.MustCompile(`[^Ee]'[^'\n]*\\`)
	for _, pattern := range []string{"queries/*.sql", "schema/*.sql"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := plain.Find(b); found != nil {
				t.Errorf("%s has the literal %s, whose meaning depends on standard_conforming_strings", file, found)
			}
		}
	}
}

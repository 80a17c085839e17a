package open_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/open"
)

// remembers opens a URL and stores a thread. If kept is true, it opens the URL again and reads the
// thread.
func remembers(t *testing.T, rawURL string, kept bool) {
	t.Helper()
	ctx := t.Context()
	s := opened(t, rawURL)
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(ctx, checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = opened(t, rawURL)
	}
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Head != id {
		t.Errorf("the head is %s, %v; want %s", chain.Head, err, id)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func opened(t *testing.T, rawURL string) checkpoint.Saver {
	t.Helper()
	s, err := open.Saver(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMemory(t *testing.T) { remembers(t, "memory:", false) }

func TestFile(t *testing.T) {
	dir := t.TempDir()
	remembers(t, "file://"+dir+"/a%20b", true)
	t.Chdir(dir)
	remembers(t, "file:threads", true)
	remembers(t, "file:shared?shared_folder=true", true)
	remembers(t, "file:unsynced?no_sync=true", true)
}

func TestSQLite(t *testing.T) {
	dir := t.TempDir()
	remembers(t, "sqlite://"+dir+"/a.db?synchronous=normal&busy_timeout=3s&max_size=100000000&readable_state=true", true)
	t.Chdir(dir)
	remembers(t, "sqlite:b.db", true)
	s := opened(t, "sqlite:b.db?mode=ro")
	if err := s.Delete(t.Context(), "t"); !errors.Is(err, checkpoint.ErrReadOnly) {
		t.Errorf("mode=ro: a deletion returns %v, want ErrReadOnly", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.db")); err != nil {
		t.Errorf("a relative path: %v", err)
	}
}

func TestRedis(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	remembers(t, "redis://"+addr+"/0?allow_unsafe_settings=true&ttl=1h&prefix="+url.QueryEscape(prefix), true)
}

func TestRedisCluster(t *testing.T) {
	addrs, prefix := testenv.RedisCluster(t)
	q := url.Values{"cluster": {"true"}, "allow_unsafe_settings": {"true"}, "prefix": {prefix}, "addr": addrs[1:]}
	remembers(t, "redis://"+addrs[0]+"?"+q.Encode(), true)
}

func TestMySQL(t *testing.T) {
	config, err := mysqldriver.ParseDSN(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{
		Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: config.DBName,
		RawQuery: "max_conns=3&retry_timeout=5s&readable_state=true&timeout=5s",
	}
	remembers(t, u.String(), true)
	u.RawQuery = "schema=verify"
	if err := opened(t, u.String()).Close(); err != nil {
		t.Error(err)
	}
}

func TestPostgres(t *testing.T) {
	u := testenv.Postgres(t)
	remembers(t, u+"&max_conns=3&retry_timeout=5s&readable_state=true&prepare_statements=true", true)
	if err := opened(t, u+"&schema=verify").Close(); err != nil {
		t.Error(err)
	}
}

func TestWrongURLs(t *testing.T) {
	for rawURL, want := range map[string]string{
		"":                                           "no scheme",
		"/var/lib/threads":                           "no scheme",
		"mongo://user:secret@host/db":                `"mongo"; want one of memory:, file:, sqlite:, redis:, mysql:, postgres:`,
		"mysql://user:secret@ho st/db":               "parsed",
		"memory:somewhere":                           "want memory:",
		"memory:?a=b":                                `no setting "a"`,
		"file:":                                      "no path",
		"file://relative/path":                       `"relative" is in the place of the host`,
		"file:///tmp/x?keep=1":                       `no setting "keep"`,
		"sqlite:x.db?synchronous=off":                `synchronous is "off"; want full or normal`,
		"sqlite:x.db?mode=rw":                        `mode is "rw"; want ro or rwc`,
		"sqlite:x.db?busy_timeout=3":                 "want a time",
		"sqlite:x.db?max_size=-1":                    "a number above 0",
		"sqlite:x.db?readable_state=1&wal=no":        `readable_state is "1"; want true or false`,
		"mysql://user:secret@h/db?schema=drop":       `schema is "drop"; want create or verify`,
		"mysql://user:secret@h:3306/":                "names no database",
		"postgres://user:secret@h/?max_conns=x":      "a number above 0",
		"redis://user:secret@h:1/?ttl=-1s":           "want a time",
		"redis://user:secret@h:1/?nonsense=1":        "nonsense",
		"redis://user:secret@h:1/?prefix=a&prefix=b": "want one value",
	} {
		s, err := open.Saver(context.Background(), rawURL)
		if err == nil {
			t.Errorf("%q was opened", rawURL)
			_ = s.Close() // the test has failed
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error about %q without the password", rawURL, err, want)
		}
		if s != nil {
			t.Errorf("%q: got a saver together with the error", rawURL)
		}
	}
	var wrong *open.URLError
	if _, err := open.Saver(t.Context(), "memory:x"); !errors.As(err, &wrong) || wrong.URL != "memory:x" {
		t.Errorf("got %v, want a *URLError with the URL", err)
	}
}

func TestSaversByName(t *testing.T) {
	first, second := opened(t, "memory:"), opened(t, "memory:")
	savers := open.Savers{"sessions": first, "jobs": second}
	if got, err := savers.Named("jobs"); err != nil || got != second {
		t.Errorf("jobs: got %v, %v; want the second", got, err)
	}
	var unknown *open.NameError
	if _, err := savers.Named("job"); !errors.As(err, &unknown) || err.Error() != `open: no saver is named "job"; want one of jobs, sessions` {
		t.Errorf("job: got %v, want a *NameError that lists the names", err)
	}
	if _, err := (open.Savers)(nil).Named("x"); err == nil || err.Error() != `open: no saver is named "x"; add it to the Savers, which have none` {
		t.Errorf("a name without any savers: got %v", err)
	}
	if err := savers.Close(); err != nil {
		t.Error(err)
	}
	for name, s := range savers {
		if _, err := s.Versions(t.Context(), "t"); !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("%s after Close: got %v, want closed", name, err)
		}
	}
}

package open_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/open"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// marks appear in every password of the tests, and nowhere else.
var marks = [...]string{"hunter2", "tr0ub4dor"}

// noHost is a DSN without an @.
const noHost = "mysql u:%s(127.0.0.1)/db"

// placesOfPasswords returns ways to open a saver. Each has a password at each %s.
func placesOfPasswords() map[string]func(ctx context.Context, place string) (checkpoint.Saver, error) {
	places := make(map[string]func(ctx context.Context, place string) (checkpoint.Saver, error))
	for _, place := range []string{
		"redis://u:%s@127.0.0.1:1/0?max_retries=-1", "redis://:%s@127.0.0.1:1?max_retries=-1", "redis://%s@127.0.0.1:1?max_retries=-1",
		"rediss://u:%s@127.0.0.1:1/x", "redis://u:%s@127.0.0.1:1/0?pool_size=many", "redis://u:%s@127.0.0.1:1/0?keep=1",
		"redis://127.0.0.1:1/0?password=%s", "redis://127.0.0.1:1/0?username=u&password=%s", "redis://127.0.0.1:1?sentinel_password=%s",
		"redis://127.0.0.1:1?cluster=true&addr=u:%s@127.0.0.1:1", "redis://u:%s@127.0.0.1:1?cluster=true&read_timeout=x",
		"redis:u:%s@127.0.0.1:1", "redis:/u:%s@127.0.0.1:1", "redis:///u:%s@127.0.0.1:1", "redis://u:%s@[::1", "redis://u:%s@127.0.0.1:port/0",
		"mysql://u:%s@127.0.0.1:1/db", "mysql://u:%s@127.0.0.1:1/", "mysql://u:%s@127.0.0.1:1/db?tls=x", "mysql://u:%s@127.0.0.1:1/db?schema=x",
		"redis-sentinel://u:%s@127.0.0.1:1/main?nonsense=1", "rediss-sentinel://u:%s@127.0.0.1:1", "redis+unix://u:%s@/nowhere?nonsense=1",
		"mysql://u:%s@unix(/nowhere)/db?schema=x", "mysql://u:%s@127.0.0.1:1/db?ssl-mode=x", "mysql://u:%s@127.0.0.1:1/db?strict=1",
		"mysql://127.0.0.1:1/db?user=u&password=%s", "mysql://u:%s@127.0.0.1:1/db?parseTime=x", "mysql://%s@127.0.0.1:1/db?max_conns=0",
		"postgres://u:%s@127.0.0.1:1/db", "postgresql://u:%s@127.0.0.1:1/db?sslmode=x", "postgres://127.0.0.1:1/db?user=u&password=%s",
		"postgres://127.0.0.1:1/db?sslmode=x&password=%s", "postgres://u:%s@127.0.0.1:1/db?connect_timeout=x", "postgres://u:%s@/db?port=x",
		"mongo://u:%s@127.0.0.1:1/db", "u:%s@127.0.0.1:1", "//u:%s@127.0.0.1:1/db", ":%s@127.0.0.1:1", "memory:u:%s@127.0.0.1",
		"memory://u:%s@127.0.0.1", "sqlite://u:%s@127.0.0.1/x.db", "file://u:%s@127.0.0.1/x",
	} {
		places[place] = open.Saver
	}
	for _, place := range []string{
		"u:%s@tcp(127.0.0.1:1)/db", "u:%s@tcp(127.0.0.1:1)", "u:%s@tcp(127.0.0.1:1/db", "u:%s@127.0.0.1:1/db", "u:%s", "u:%s/db",
		noHost, "u:%s@tcp(127.0.0.1:1)/db?timeout=x", "u@tcp(127.0.0.1:1)/db?password=%s", "u:%s@tcp(127.0.0.1:1)/db?tls=x",
		"mysql://u:%s@127.0.0.1:1/db", "u:%s@other(127.0.0.1:1)/db",
	} {
		places["mysql "+strings.TrimPrefix(place, "mysql ")] = func(ctx context.Context, place string) (checkpoint.Saver, error) {
			s, err := mysql.Open(ctx, strings.TrimPrefix(place, "mysql "), mysql.RetryTimeout(time.Millisecond))
			return opaque(s, err)
		}
	}
	for _, place := range []string{
		"postgres://u:%s@127.0.0.1:1/db", "postgres://u:%s@127.0.0.1:1/db?sslmode=x", "postgres://127.0.0.1:1/db?user=u&password=%s",
		"postgres://u:%s@127.0.0.1:x/db", "u:%s@127.0.0.1:1/db", "host=127.0.0.1 port=1 user=u password=%s", "password=%s port=x",
		"host=127.0.0.1 port=1 user=u password='%s'", "host=127.0.0.1 port=1 user=u password='%s", "%s", "password %s",
		"host=127.0.0.1 port=1 password=%s pool_max_conns=x", "host=127.0.0.1 port=1 password=%s default_query_exec_mode=x",
	} {
		places["postgres "+place] = func(ctx context.Context, place string) (checkpoint.Saver, error) {
			s, err := postgres.Open(ctx, strings.TrimPrefix(place, "postgres "), postgres.RetryTimeout(time.Millisecond))
			return opaque(s, err)
		}
	}
	return places
}

func opaque[S checkpoint.Saver](s S, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// FuzzNoErrorShowsAPassword writes a password in every place, raw and encoded, and prints the
// result.
func FuzzNoErrorShowsAPassword(f *testing.F) {
	for _, between := range []string{
		"", "/", "?", "#", "@", ":", "%", "%2", "%zz", " ", "&", "=", "'", "\"", "\\", "(", ")", "[", "]", ";", "\n", "\x00", "é", "/?#", "@/", "@127.0.0.1:1/",
		"://", " port=", "&pool_size=", "@tcp(127.0.0.1:1)/", "1", "/1@", ":1/", "+", "`",
	} {
		f.Add("", between, "")
		f.Add(between, "-", between)
		f.Add("12"+between, between, "x")
	}
	places, server := placesOfPasswords(), refuses(f)
	over, cancel := context.WithCancel(f.Context())
	cancel()
	f.Fuzz(func(t *testing.T, before, between, after string) {
		password := before + marks[0] + between + marks[1] + after
		encodings := []string{password, url.PathEscape(password), url.QueryEscape(password), url.UserPassword("u", password).String()[2:]}
		slices.Sort(encodings)
		encodings = slices.Compact(encodings)
		for place, opens := range places {
			for _, written := range encodings {
				if place == noHost && strings.Contains(written, "@") { // the text after the @ is then the name of a network
					continue
				}
				s, err := opens(over, strings.NewReplacer("%s", written, "127.0.0.1:1", server).Replace(place))
				for _, value := range [...]any{err, s} {
					quiet(t, place, written, value)
				}
				for inner := err; inner != nil; inner = errors.Unwrap(inner) {
					quiet(t, place, written, inner)
				}
				if s != nil {
					_ = s.Close() // nothing is open
				}
			}
		}
	})
}

// refuses starts a server that rejects every command of Redis, and returns its address.
func refuses(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() }) // the test is over
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for b := make([]byte, 1<<16); ; {
					n, err := conn.Read(b)
					if err != nil {
						return
					}
					commands := 1 + strings.Count(string(b[:n]), "\r\n*")
					if _, err := conn.Write([]byte(strings.Repeat("-ERR no\r\n", commands))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// TestNoErrorOfAConnectionShowsAPassword does the same for servers that cannot be reached.
func TestNoErrorOfAConnectionShowsAPassword(t *testing.T) {
	written := "12" + marks[0] + "-" + marks[1]
	for place, opens := range placesOfPasswords() {
		if strings.Contains(place, "redis") { // the client retries for a long time
			continue
		}
		s, err := opens(t.Context(), strings.ReplaceAll(place, "%s", written))
		if err == nil {
			t.Errorf("%s was opened", place)
			_ = s.Close() // the test has failed
		}
		quiet(t, place, written, err)
	}
}

// quiet fails if the printed value contains part of a password.
func quiet(t *testing.T, place, written string, value any) {
	t.Helper()
	for _, verb := range [...]string{"%v", "%+v", "%#v", "%q"} {
		text := fmt.Sprintf(verb, value)
		for _, mark := range marks {
			if strings.Contains(strings.ToLower(text), mark) {
				t.Fatalf("%s with %q: %s prints %q, which contains part of the password", place, written, verb, text)
			}
		}
	}
}

func TestAPasswordThatIsNotEncodedIsExplained(t *testing.T) {
	for _, rawURL := range []string{
		"redis://u:a/b@127.0.0.1:1/0", "redis://u:1/b@127.0.0.1:1/0", "redis://u:1?b@127.0.0.1:1/0", "redis://u:1#b@127.0.0.1:1/0",
		"mysql://u:a%b@127.0.0.1:1/db", "mysql://u:1#b@127.0.0.1:1/db", "postgres://u:a?b@127.0.0.1:1/db", "postgres://u:1/b@127.0.0.1:1/db",
	} {
		_, err := open.Saver(t.Context(), rawURL)
		if err == nil || !strings.Contains(err.Error(), "a password has to be percent-encoded") {
			t.Errorf("%s: got %v, want an error that tells how to write a password", rawURL, err)
		}
	}
	_, err := postgres.Open(t.Context(), "postgres://u:1/b@127.0.0.1:1/db")
	if err == nil || !strings.Contains(err.Error(), "a password has to be percent-encoded") {
		t.Errorf("postgres.Open: got %v, want an error that tells how to write a password", err)
	}
}

package testenv_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/internal/testenv"
)

// command sends one line to a Redis and returns the first line of the reply.
func command(t *testing.T, addr, line string) string {
	t.Helper()
	answer, err := try(addr, line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return answer
}

func try(addr, line string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer), err
}

func TestTestsShareAServerAndNothingElse(t *testing.T) {
	t.Run("MySQL", func(t *testing.T) {
		for range 2 {
			db, err := sql.Open("mysql", testenv.MySQL(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("CREATE TABLE same (n INT)"); err != nil {
				t.Errorf("in a database of its own: %v", err)
			}
		}
	})
	t.Run("Postgres", func(t *testing.T) {
		ctx := t.Context()
		for range 2 {
			conn, err := pgx.Connect(ctx, testenv.Postgres(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "CREATE TABLE same (n INT)"); err != nil {
				t.Errorf("in a schema of its own: %v", err)
			}
		}
	})
	t.Run("Redis", func(t *testing.T) {
		addr, one := testenv.Redis(t)
		same, two := testenv.Redis(t)
		if addr != same || one == two {
			t.Errorf("got %s with %q and %s with %q, want one server and two prefixes", addr, one, same, two)
		}
	})
}

func TestKeysOfATestAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	var addr, prefix string
	t.Run("test", func(t *testing.T) {
		addr, prefix = testenv.Redis(t)
		command(t, addr, "SET "+prefix+"a 1")
		command(t, addr, "SET other 1")
	})
	if got := command(t, addr, "EXISTS "+prefix+"a"); got != ":0" {
		t.Errorf("EXISTS of the test's key: got %s, want :0", got)
	}
	if got := command(t, addr, "DEL other"); got != ":1" {
		t.Errorf("DEL of another key: got %s, want :1", got)
	}
}

func TestRedisClusterServesEverySlot(t *testing.T) {
	addrs, prefix := testenv.RedisCluster(t)
	if len(addrs) != 3 {
		t.Fatalf("got %d nodes, want 3", len(addrs))
	}
	moved := 0
	for i := range 30 {
		answer := command(t, addrs[0], fmt.Sprintf("SET %s%d x", prefix, i))
		switch {
		case strings.HasPrefix(answer, "-MOVED"):
			moved++
		case answer != "+OK":
			t.Errorf("SET: %s", answer)
		}
	}
	if moved == 0 || moved == 30 {
		t.Errorf("%d of 30 keys are on other nodes, want some", moved)
	}
}

func TestDurableServersKeepWhatTheyAcknowledgedOverAKill(t *testing.T) {
	t.Run("Redis", func(t *testing.T) {
		s := testenv.StartRedis(t, true)
		command(t, s.Addr, "SET a 1")
		restart(t, s)
		if got := command(t, s.Addr, "EXISTS a"); got != ":1" {
			t.Errorf("EXISTS after kill -9 and restart: got %s, want :1", got)
		}
	})
	t.Run("MySQL", func(t *testing.T) {
		s := testenv.StartMySQL(t, true)
		for i, statement := range []string{"CREATE DATABASE d", "CREATE TABLE d.a (n INT)", "INSERT INTO d.a VALUES (7)"} {
			db, err := sql.Open("mysql", s.DSN)
			if err == nil {
				_, err = db.Exec(statement)
			}
			if err != nil {
				t.Fatalf("statement %d: %v", i, err)
			}
			_ = db.Close()
		}
		restart(t, s)
		db, err := sql.Open("mysql", s.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var n int
		if err := db.QueryRow("SELECT n FROM d.a").Scan(&n); err != nil || n != 7 {
			t.Errorf("after kill -9 and restart: got %d, %v, want 7", n, err)
		}
	})
	t.Run("Postgres", func(t *testing.T) {
		s, ctx := testenv.StartPostgres(t, true), context.Background()
		conn, err := pgx.Connect(ctx, s.DSN)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, "CREATE TABLE a AS SELECT 7 AS n"); err != nil {
			t.Fatal(err)
		}
		restart(t, s)
		if conn, err = pgx.Connect(ctx, s.DSN); err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		var n int
		if err := conn.QueryRow(ctx, "SELECT n FROM a").Scan(&n); err != nil || n != 7 {
			t.Errorf("after kill -9 and restart: got %d, %v, want 7", n, err)
		}
	})
}

func restart(t *testing.T, s *testenv.Server) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		_ = conn.Close()
		t.Fatal("a killed server lets a client in")
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsLeftRunning runs this test binary as a child and kills it while it has a server.
func TestNothingIsLeftRunning(t *testing.T) {
	if path := os.Getenv("TESTENV_CHILD"); path != "" {
		addr, _ := testenv.Redis(t)
		if err := os.WriteFile(path, []byte(addr), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, "up")
		select {}
	}
	if testing.Short() {
		t.Skip("needs a real server")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, temp := t.TempDir()+"/addr", t.TempDir()
	cmd := exec.Command(exe, "-test.run=^TestNothingIsLeftRunning$")
	cmd.Env = append(os.Environ(), "TESTENV_CHILD="+path, "TMPDIR="+temp, "GRAPHGEN_TEST_REDIS_ADDR=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	addr, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	command(t, string(addr), "PING")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		_, dial := try(string(addr), "PING")
		left, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		if dial != nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the process is gone its server answers with error %v, and its folder has %v", dial, left)
		}
	}
}

// echo starts a server that answers each line with the same line.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if _, err := io.WriteString(conn, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestProxyCutsAtTheGivenPlace(t *testing.T) {
	p := testenv.NewProxy(t, echo(t))
	for _, c := range []struct {
		name string
		arm  func()
		want string // the part of the reply "abcdef\n"
	}{
		{"not", func() {}, "abcdef\n"},
		{"answer at once", func() { p.CutReply(0) }, ""},
		{"answer in the middle", func() { p.CutReply(3) }, "abc"},
		{"request in the middle", func() { p.CutRequest(3) }, ""},
		{"not any more", func() {}, "abcdef\n"},
	} {
		conn, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		c.arm()
		if _, err := io.WriteString(conn, "abcdef\n"); err != nil {
			t.Fatal(err)
		}
		got, err := bufio.NewReader(conn).ReadString('\n')
		if got != c.want || (err == nil) != strings.HasSuffix(c.want, "\n") {
			t.Errorf("cut %s: got %q, %v, want %q", c.name, got, err, c.want)
		}
		_ = conn.Close()
	}
	if got := p.Cuts(); got != 3 {
		t.Errorf("it counts %d cuts, want 3", got)
	}
}

func TestProxyCountsRoundTrips(t *testing.T) {
	p := testenv.NewProxy(t, echo(t))
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for range 5 {
		if _, err := io.WriteString(conn, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.RoundTrips(); got != 5 {
		t.Errorf("got %d round trips, want 5", got)
	}
	p.Cut()
	if _, err := lines.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading from a cut connection: got %v, want its end", err)
	}
	p.Refuse(true)
	if answer, err := try(p.Addr, "hello"); err == nil {
		t.Errorf("a proxy that refuses let %q through", answer)
	}
}

func TestAPoolerGivesAConnectionForOneTransaction(t *testing.T) {
	ctx, url := t.Context(), testenv.PostgresPooler(t)
	var pids [2]int
	for i := range pids {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if pids[0] != pids[1] {
		t.Errorf("two clients that stay connected got processes %d and %d of the server, want one after the other the same", pids[0], pids[1])
	}
}

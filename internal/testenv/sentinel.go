package testenv

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Sentinel is a Redis with a replica and a sentinel that watches them.
type Sentinel struct {
	Name    string // the sentinel's name of the primary
	Addr    string // address of the sentinel, host:port
	Primary *Server
	Replica *Server
}

// StartRedisSentinel starts a durable Redis with a replica and a sentinel. The sentinel promotes
// the replica soon after a Kill of Primary. StartRedisSentinel returns when the replica is in
// sync.
func StartRedisSentinel(tb testing.TB) *Sentinel {
	tb.Helper()
	const name = "main"
	k := redis(true)
	alone := k.run
	k.run = func(s *Server) []string { return append(alone(s), "--repl-diskless-sync-delay", "0") }
	primary := own(tb, k)
	k.run = func(s *Server) []string { return append(alone(s), "--replicaof", "127.0.0.1", primary.port(0)) }
	replica := own(tb, k)
	wait(tb, "the replica is in step", func() bool {
		info, err := reply(replica.Addr, "INFO", "replication")
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	sentinel := own(tb, kind{
		name:  "Redis sentinel",
		needs: []string{"redis-server"},
		ports: 1,
		setup: func(s *Server) []string {
			config := fmt.Sprintf(`port %s
bind 127.0.0.1
dir %s
sentinel monitor %s 127.0.0.1 %s 1
sentinel down-after-milliseconds %[3]s 300
sentinel failover-timeout %[3]s 3000
`, s.port(0), s.dir, name, primary.port(0))
			return []string{"/bin/sh", "-c", `printf %s "$1" >"$2"`, "sh", config, s.path("sentinel.conf")}
		},
		run:   func(s *Server) []string { return []string{"redis-server", s.path("sentinel.conf"), "--sentinel"} },
		dsn:   func(*Server) string { return "" },
		ready: func(s *Server) error { return ask(s.Addr, "+PONG", "PING") },
		end:   redis(false).end,
	})
	wait(tb, "the sentinel knows the replica", func() bool {
		info, err := reply(sentinel.Addr, "INFO", "sentinel")
		return err == nil && strings.Contains(info, "slaves=1")
	})
	return &Sentinel{Name: name, Addr: sentinel.Addr, Primary: primary, Replica: replica}
}

// wait waits until ok returns true. It is for effects of other processes.
func wait(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !ok(); pause(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("testenv: %s: not so after %v", what, patience)
		}
	}
}

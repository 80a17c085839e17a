package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// redis describes a Redis server.
func redis(durable bool) kind {
	return kind{
		name:  "Redis",
		needs: []string{"redis-server"},
		ports: 1,
		run: func(s *Server) []string {
			args := []string{"redis-server", "--port", s.port(0), "--bind", "127.0.0.1", "--save", "", "--dir", s.dir}
			if durable {
				return append(args, "--appendonly", "yes", "--appendfsync", "always")
			}
			return append(args, "--appendonly", "no")
		},
		dsn:   func(s *Server) string { return "redis://" + s.Addr },
		ready: func(s *Server) error { return ask(s.Addr, "+PONG", "PING") },
		end:   syscall.SIGKILL,
	}
}

// redisNode describes a node of a Redis cluster.
func redisNode() kind {
	k := redis(false)
	single := k.run
	k.ports = 2
	k.run = func(s *Server) []string {
		return append(single(s), "--cluster-enabled", "yes", "--cluster-config-file", s.path("nodes.conf"),
			"--cluster-port", s.port(1), "--cluster-node-timeout", "5000")
	}
	return k
}

// startCluster starts three nodes without replicas, which divide the slots among them.
func startCluster() ([]*Server, error) {
	const slots = 16384
	var nodes []*Server
	for i := range 3 {
		s, err := start(redisNode(), 1)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, s)
		first, last := slots*i/3, slots*(i+1)/3-1
		err = ask(s.Addr, "+OK", "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last))
		if err == nil && i > 0 {
			err = ask(s.Addr, "+OK", "CLUSTER", "MEET", "127.0.0.1", nodes[0].port(0), nodes[0].port(1))
		}
		if err != nil {
			return nil, fmt.Errorf("testenv: Redis cluster: %w", err)
		}
	}
	for deadline := time.Now().Add(patience); ; pause(20 * time.Millisecond) {
		err := agree(nodes)
		if err == nil {
			return nodes, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("testenv: Redis cluster: %w", err)
		}
	}
}

// agree returns an error unless every node sees all nodes and all slots are served.
func agree(nodes []*Server) error {
	for _, s := range nodes {
		info, err := reply(s.Addr, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		for _, want := range []string{"cluster_state:ok", "cluster_slots_ok:16384", fmt.Sprintf("cluster_known_nodes:%d", len(nodes))} {
			if !strings.Contains(info, want) {
				return fmt.Errorf("%s has not come to %s", s.Addr, want)
			}
		}
	}
	return nil
}

// ask sends a command. It returns an error unless the reply is want.
func ask(addr, want string, command ...string) error {
	got, err := reply(addr, command...)
	if err == nil && got != want {
		err = fmt.Errorf("%s: got %q, want %q", strings.Join(command, " "), got, want)
	}
	return err
}

// reply sends a command and returns the first line of the reply, or the whole string.
func reply(addr string, command ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, encode(command)); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

// encode writes a command as an array of strings.
func encode(command []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasPrefix(line, "$") {
		return line, nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "", errors.Join(fmt.Errorf("reply %q", line), err)
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// removeKeys removes the keys of a test from every node.
func removeKeys(tb testing.TB, addrs []string, prefix string) {
	tb.Helper()
	const script = `
local cursor = '0'
repeat
	local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
	cursor = page[1]
	for _, key in ipairs(page[2]) do redis.call('UNLINK', key) end
until cursor == '0'
return redis.status_reply('OK')`
	for _, addr := range addrs {
		if err := ask(addr, "+OK", "EVAL", script, "0", prefix); err != nil {
			tb.Errorf("testenv: Redis: remove keys: %v", err)
		}
	}
}

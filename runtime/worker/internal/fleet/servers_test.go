//go:build unix

package fleet_test

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/open"
)

// network is what is between the workers and their server.
type network struct {
	*crowd
	server *testenv.Server
	proxy  *testenv.Proxy

	restarts, cuts int
}

// disturb kills or stops a worker, restarts the server, or cuts or delays connections.
func (n *network) disturb() {
	n.t.Helper()
	switch rand.IntN(8) {
	case 0, 1:
		n.crowd.disturb()
	case 2:
		n.restarts++
		err := n.server.Kill()
		if err == nil {
			err = n.server.Restart()
		}
		if err != nil {
			n.t.Fatal(err)
		}
	case 3:
		n.cuts++
		n.proxy.Cut()
	case 4:
		n.proxy.CutRequest(rand.IntN(1500))
	case 5, 6:
		n.proxy.CutReply(rand.IntN(300))
	default:
		n.cuts++
		n.proxy.Delay(time.Duration(rand.IntN(20)) * time.Millisecond)
		time.AfterFunc(100*time.Millisecond, func() { n.proxy.Delay(0) })
	}
}

// servers are the savers with a server: how it starts, and its URL at an address.
var servers = map[string]func(t *testing.T) (*testenv.Server, func(addr string) string){
	"redis": func(t *testing.T) (*testenv.Server, func(addr string) string) {
		t.Helper()
		return testenv.StartRedis(t, true), func(addr string) string { return "redis://" + addr }
	},
	"mysql": func(t *testing.T) (*testenv.Server, func(addr string) string) {
		t.Helper()
		s := testenv.StartMySQL(t, true)
		db, err := sql.Open("mysql", s.DSN)
		if err == nil {
			defer func() { _ = db.Close() }()
			_, err = db.Exec("CREATE DATABASE work")
		}
		if err != nil {
			t.Fatal(err)
		}
		return s, func(addr string) string { return "mysql://root@" + addr + "/work" }
	},
	"postgres": func(t *testing.T) (*testenv.Server, func(addr string) string) {
		t.Helper()
		s := testenv.StartPostgres(t, true)
		return s, func(addr string) string { return strings.Replace(s.DSN, s.Addr, addr, 1) }
	},
}

// TestWorkersWhoseServersAreKilledAndCut kills and stops workers, kills their server, and cuts
// connections, also between a request and its reply. Each thread ends once, with each of its nodes
// committed once.
func TestWorkersWhoseServersAreKilledAndCut(t *testing.T) {
	n, faults := 30, 16
	if soak, _ := time.ParseDuration(os.Getenv("GRAPHGEN_SOAK")); soak > 0 {
		n, faults = 1000, 400
	}
	for kind, begin := range servers {
		t.Run(kind, func(t *testing.T) {
			server, url := begin(t)
			s, err := open.Saver(t.Context(), url(server.Addr))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			all := ids("t", n)
			submit(t, s, "walk", all...)
			proxy := testenv.NewProxy(t, server.Addr)
			c := &crowd{t: t, url: url(proxy.Addr), lines: make(chan spoken, 1000), over: make(map[string]bool)}
			w := &network{crowd: c, server: server, proxy: proxy}
			w.work(s, all, faults, w.disturb)
			t.Logf("%v; %d restarts of the server, %d connections cut or delayed", c, w.restarts, w.cuts+proxy.Cuts())
		})
	}
}

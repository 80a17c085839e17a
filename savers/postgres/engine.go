package postgres

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNoNotification is the error of Engine.Listen if a notification that the engine sent to itself
// has not arrived. Test for it with errors.Is.
var ErrNoNotification = errors.New("a notification of the engine to itself has not arrived; " +
	"a pooler such as PgBouncer does not keep LISTEN if it gives a connection for one transaction only: " +
	"pass the URL of the server itself to ListenURL, with the same search_path")

// Engine is a worker.Engine by LISTEN and NOTIFY. NewEngine makes it. An Engine is safe for
// concurrent use.
type Engine struct {
	pool   *pgxpool.Pool
	direct string
	idle   time.Duration // after which Listen checks its connection
	limit  time.Duration // of a notification to itself
}

// EngineOption changes an Engine.
type EngineOption func(*Engine)

// ListenURL sets the URL of the connections that listen. They need a direct connection to the
// server: behind a pooler that gives a connection for one transaction only, notifications do not
// arrive. The default is the URL of the saver. The rest of the URL, such as the database and the
// search_path, must lead to the same tables.
func ListenURL(url string) EngineOption { return func(e *Engine) { e.direct = url } }

// NewEngine returns an engine on the server of s. Processes share hints if their savers share the
// tables. The engine ends with the saver.
//
// Wake sends a notification in a transaction of its own, on a connection of the saver. Commits of
// runs notify nobody, because PostgreSQL lets only one notifying transaction commit at a time. The
// transaction of Wake stores nothing, so it does not wait for the disk.
//
// Each Listen opens a connection of its own, which does not count for MaxConns. It sends a
// notification to itself when it begins, and after 30 s without one. If that does not arrive
// within 10 s, Listen returns ErrNoNotification.
func NewEngine(s *Saver, opts ...EngineOption) *Engine {
	e := &Engine{pool: s.pool, idle: 30 * time.Second, limit: 10 * time.Second}
	for _, opt := range opts {
		opt(e)
	}
	return e
}

// channelOf is the channel of a graph. Schemas of a database have different channels. The server
// makes the name, because it knows the schema.
const channelOf = "'graphgen_' || md5(current_schema() || '/' || $1::text)"

// longest is the maximum size of a thread id in a notification, whose payload has less than 8000
// bytes.
const longest = 7999 / 4 * 3

// Wake sends a hint, as worker.Engine says. A thread id of more than 5997 bytes is left out.
func (e *Engine) Wake(ctx context.Context, graph, thread string) error {
	if len(thread) > longest {
		thread = ""
	}
	return e.notify(ctx, hex.EncodeToString([]byte(graph)), base64.StdEncoding.EncodeToString([]byte(thread)))
}

func (e *Engine) notify(ctx context.Context, name, payload string) error {
	if _, err := e.pool.Exec(ctx, "select pg_notify("+channelOf+", $2::text)", name, payload); err != nil {
		return fmt.Errorf("postgres: notify: %w", explain(err))
	}
	return nil
}

// Listen calls hint for the hints of graphs, as worker.Engine says. It returns an error if the
// connection is lost.
func (e *Engine) Listen(ctx context.Context, graphs []string, hint func(graph, thread string)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("postgres: listen: %w", err)
	}
	l := &listener{e: e, own: rand.Text(), graphs: make(map[string]string)}
	err := l.connect(ctx, graphs)
	if err == nil {
		err = l.serve(ctx, hint)
	}
	l.close()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("postgres: listen: %w", err)
}

// listener is one call of Listen.
type listener struct {
	e       *Engine
	conn    *pgx.Conn
	graphs  map[string]string // by channel
	own     string            // a name that no graph has in hex, for notifications to itself
	channel string            // of own
}

// connect opens the connection and listens.
func (l *listener) connect(ctx context.Context, graphs []string) (err error) {
	config := l.e.pool.Config().ConnConfig
	if l.e.direct != "" {
		own, err := parse(l.e.direct)
		if err != nil {
			return fmt.Errorf("ListenURL: %w", err)
		}
		config = own.ConnConfig
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if l.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	if l.channel, err = l.channelOf(ctx, l.own); err != nil {
		return err
	}
	commands := []string{`listen "` + l.channel + `"`}
	for _, graph := range graphs {
		channel, err := l.channelOf(ctx, hex.EncodeToString([]byte(graph)))
		if err != nil {
			return err
		}
		l.graphs[channel] = graph
		commands = append(commands, `listen "`+channel+`"`)
	}
	_, err = l.conn.Exec(ctx, strings.Join(commands, "; "), pgx.QueryExecModeSimpleProtocol)
	return err
}

func (l *listener) channelOf(ctx context.Context, name string) (channel string, err error) {
	err = l.conn.QueryRow(ctx, "select "+channelOf, name).Scan(&channel)
	return channel, err
}

// serve passes notifications on until an error.
func (l *listener) serve(ctx context.Context, hint func(graph, thread string)) error {
	began := false
	asked := true // a notification to itself is in progress
	if err := l.e.notify(ctx, l.own, ""); err != nil {
		return err
	}
	for {
		limit := l.e.idle
		if asked {
			limit = l.e.limit
		}
		wait, cancel := context.WithTimeout(ctx, limit)
		n, err := l.conn.WaitForNotification(wait)
		late := wait.Err() != nil
		cancel()
		switch {
		case err == nil && n.Channel == l.channel:
			asked = false
			if !began {
				began = true
				hint("", "")
			}
		case err == nil:
			thread, err := base64.StdEncoding.DecodeString(n.Payload)
			if graph, mine := l.graphs[n.Channel]; mine && err == nil {
				hint(graph, string(thread))
			}
		case !late || !pgconn.Timeout(err):
			return err
		case asked:
			return ErrNoNotification
		default:
			asked = true
			if err := l.e.notify(ctx, l.own, ""); err != nil {
				return err
			}
		}
	}
}

// close closes the connection.
func (l *listener) close() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx) // the error of Listen says what was wrong
}

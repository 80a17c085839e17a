// Package open opens savers by URL, for programs whose configuration selects the saver. It also
// holds several savers by name.
//
//	memory:                                          package savers/memory
//	file:///var/lib/app/threads                      package savers/file, a folder
//	sqlite:///var/lib/app/threads.db                 package savers/sqlite, a file
//	redis://user:password@host:6379/0                package savers/redis; rediss:// for TLS
//	redis://host:6379/?cluster=true&addr=host2:6379  the same, on a cluster
//	redis-sentinel://host:26379,host2:26379/name     the same, behind sentinels
//	redis+unix:///run/redis.sock?db=0                the same, at a Unix socket
//	mysql://user:password@host:3306/database         package savers/mysql
//	mysql://user@/database?socket=/run/mysqld.sock   the same, at a Unix socket
//	postgres://user:password@host:5432/database      package savers/postgres
//	shards:///etc/app/shards                         package savers/shards; a file that lists savers
//
// A path without leading slashes may be relative: file:threads, sqlite:threads.db.
//
// # Settings
//
// The query of the URL contains further settings of the saver:
//
//	file       no_sync=true, shared_folder=true
//	sqlite     synchronous=normal, busy_timeout=30s, max_size=1000000000, readable_state=true, shared_folder=true,
//	           mode=ro
//	redis      prefix=app:, ttl=720h, allow_unsafe_settings=true, sentinel_auth=true
//	mysql      schema=verify, max_conns=32, retry_timeout=30s, readable_state=true, ssl-mode=REQUIRED
//	postgres   schema=verify, max_conns=32, retry_timeout=30s, readable_state=true, prepare_statements=true
//
// The packages of the savers describe these settings. Other settings are passed to the driver of a
// server as they are, such as tls=true for MySQL and sslmode=verify-full for PostgreSQL. If there
// is no driver, they are an error. This package links the drivers of all savers. To link only one,
// import the package of its saver instead.
//
// # Shards
//
// Each line of the file of a shards: URL is a shard: its name, its weight and the URL of its
// saver. A weight of 1 can be left out. One of 0 is that of a shard whose threads move away, see
// shards.Announce. Empty lines and those that begin with # are ignored. The file can contain
// passwords, so only the program should be able to read it.
//
//	# name weight URL
//	one    postgres://app:secret@db1.internal/app
//	two  2 postgres://app:secret@db2.internal/app
//
// # TLS
//
// A client certificate is the files sslcert and sslkey, and the authority that signed the server's
// is sslrootcert, for redis, mysql and postgres alike. For mysql, ssl-mode, sslmode and tls select
// whether TLS is used: ssl-mode=REQUIRED is tls=skip-verify, which encrypts and does not verify
// the server. VERIFY_CA and VERIFY_IDENTITY are tls=true, which also verifies the name of the
// host.
//
// # Sockets
//
// The socket of a mysql: URL is the setting socket or unix_socket, or is in the place of the host:
// mysql://user@unix(/run/mysqld.sock)/database. That of a postgres: URL is the setting host, which
// has the folder of the socket.
//
// # Sentinels
//
// rediss-sentinel: is redis-sentinel: with TLS.
// The user and password of a redis-sentinel: URL are those of the Redis servers. With
// sentinel_auth=true, the sentinels get them too. The path is the name of the servers, as the
// sentinels have it, and can end with the number of a database: /main/1.
//
// # Passwords
//
// A password is part of the URL, between the user and the host. It must be percent-encoded: the
// password p@ss/word is written as p%40ss%2Fword in a URL. Errors never contain a password. An @
// in a setting of a server's URL must be written as %40. Otherwise it is taken for part of a
// password that is not encoded.
package open

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// URLError describes an error in the URL of a saver. It never contains a password.
type URLError struct {
	URL    string // without user, password and settings; empty if the rest might contain part of a password
	Reason string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return "open: " + e.Reason
	}
	return fmt.Sprintf("open: %s: %s", e.URL, e.Reason)
}

// Saver opens the saver for a URL; the package comment describes the URLs. The caller must close
// the saver. Saver returns a *URLError if the URL is not valid for any saver, and otherwise the
// errors of the saver's package. ctx applies only to the opening.
func Saver(ctx context.Context, rawURL string) (checkpoint.Saver, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	known, err := s.scheme()
	if err != nil {
		return nil, err
	}
	return known.open(ctx, s)
}

// scheme is a URL scheme and the function that opens its savers.
type scheme struct {
	names  []string
	server bool // the URLs name a server and may have a password
	open   func(ctx context.Context, s *settings) (checkpoint.Saver, error)
}

// schemes returns the schemes of all savers, with the functions that open them.
func schemes() []scheme {
	return []scheme{
		{[]string{"memory"}, false, openMemory},
		{[]string{"file"}, false, openFile},
		{[]string{"sqlite"}, false, openSQLite},
		{[]string{"redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis+unix"}, true, openRedis},
		{[]string{"mysql"}, true, openMySQL},
		{[]string{"postgres", "postgresql"}, true, openPostgres},
		{[]string{shardsScheme}, false, openShards},
	}
}

// scheme returns the scheme of a URL. It returns an error if no saver serves the URL, or if a
// password is in the wrong place.
func (s *settings) scheme() (scheme, error) {
	var known []string
	for _, c := range schemes() {
		if slices.Contains(c.names, s.u.Scheme) {
			return c, s.misplaced(c.server)
		}
		known = append(known, c.names[0]+":")
	}
	if s.u.Scheme == "" { // possibly a path
		return scheme{}, &URLError{Reason: "the URL has no scheme; want one of " + strings.Join(known, ", ")}
	}
	return scheme{}, s.bad(fmt.Sprintf("no saver has the scheme %q; want one of %s", s.u.Scheme, strings.Join(known, ", ")))
}

// openMemory returns a new memory saver.
func openMemory(_ context.Context, s *settings) (checkpoint.Saver, error) {
	if s.u.Host != "" || s.u.Path != "" || s.u.Opaque != "" {
		return nil, s.bad("a memory URL has no path; want memory:")
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return memory.New(), nil
}

// openFile opens the saver of a file URL.
func openFile(_ context.Context, s *settings) (checkpoint.Saver, error) {
	path := s.path()
	var opts []file.Option
	if s.yes("shared_folder") {
		opts = append(opts, file.SharedFolder())
	}
	if s.yes("no_sync") {
		opts = append(opts, file.NoSync())
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return opened(file.Open(path, opts...))
}

// opened returns a nil checkpoint.Saver if err is not nil, because a nil pointer in the interface
// would not be nil.
func opened[S checkpoint.Saver](saver S, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return saver, nil
}

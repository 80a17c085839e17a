// Package open opens savers by URL, for programs that are told by their configuration where threads are kept, and holds
// several of them by name.
//
//	memory:                                          package savers/memory
//	file:///var/lib/app/threads                      package savers/file, a folder
//	sqlite:///var/lib/app/threads.db                 package savers/sqlite, a file
//	redis://user:password@host:6379/0                package savers/redis; rediss:// for TLS
//	redis://host:6379/?cluster=true&addr=host2:6379  the same, on a cluster
//	mysql://user:password@host:3306/database         package savers/mysql
//	postgres://user:password@host:5432/database      package savers/postgres
//
// A path may be relative when there are no slashes before it: file:threads, sqlite:threads.db.
//
// # Settings
//
// What a saver can be told more stands in the URL's query:
//
//	file       no_sync=true, shared_folder=true
//	sqlite     synchronous=normal, busy=30s, max_size=1000000000, readable_state=true, shared_folder=true
//	redis      prefix=app:, ttl=720h, accept_weaker=true
//	mysql      schema=verify, max_conns=32, patience=30s, readable_state=true
//	postgres   schema=verify, max_conns=32, patience=30s, readable_state=true, prepare_statements=true
//
// The packages say what they mean. Other settings go to the driver of a server, as in tls=true for MySQL and
// sslmode=verify-full for PostgreSQL; where there is none, they are an error. Who imports this package links the
// drivers of all savers; to link one, import its saver instead.
//
// # Passwords
//
// A password stands between the user and the host, percent-encoded: p@ss/word is p%40ss%2Fword. No error shows one. An @
// that belongs to a setting of a server's URL is %40, too: a bare one there is taken for a password that is not encoded.
package open

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// URLError says what is wrong with a URL that names a saver. It never shows a password.
type URLError struct {
	URL    string // without user, password and settings; empty when what is left could still have some of a password
	Reason string
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return "open: " + e.Reason
	}
	return fmt.Sprintf("open: %s: %s", e.URL, e.Reason)
}

// URL opens the saver that a URL names, as the package comment says. It is to be closed. A URL that no saver takes is a
// *URLError; other errors are those of the saver's package. ctx bounds only the opening.
func URL(ctx context.Context, rawURL string) (checkpoint.Saver, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	schemes := schemes()
	i := slices.IndexFunc(schemes, func(known scheme) bool { return slices.Contains(known.names, s.u.Scheme) })
	if i < 0 {
		return nil, unknownScheme(s.u, schemes)
	}
	if err := s.misplaced(schemes[i].server); err != nil {
		return nil, err
	}
	return schemes[i].open(ctx, s)
}

// scheme is a kind of URL and the function that opens it.
type scheme struct {
	names  []string
	server bool // its URLs name a server, and may have a password
	open   func(ctx context.Context, s *settings) (checkpoint.Saver, error)
}

func schemes() []scheme {
	return []scheme{
		{[]string{"memory"}, false, openMemory},
		{[]string{"file"}, false, openFile},
		{[]string{"sqlite"}, false, openSQLite},
		{[]string{"redis", "rediss"}, true, openRedis},
		{[]string{"mysql"}, true, openMySQL},
		{[]string{"postgres", "postgresql"}, true, openPostgres},
	}
}

func unknownScheme(u *url.URL, schemes []scheme) error {
	var known []string
	for _, s := range schemes {
		known = append(known, s.names[0]+":")
	}
	reason := fmt.Sprintf("no saver has the scheme %q; want one of %s", u.Scheme, strings.Join(known, ", "))
	if u.Scheme == "" { // a path, or anything
		return &URLError{Reason: "the URL has no scheme; want one of " + strings.Join(known, ", ")}
	}
	return &URLError{URL: shown(u), Reason: reason}
}

func openMemory(_ context.Context, s *settings) (checkpoint.Saver, error) {
	if s.u.Host != "" || s.u.Path != "" || s.u.Opaque != "" {
		return nil, s.bad("memory has no place; want memory:")
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return memory.New(), nil
}

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

// opened makes nothing of a saver that was not opened: a nil of its type is not a nil checkpoint.Saver.
func opened[S checkpoint.Saver](saver S, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return saver, nil
}

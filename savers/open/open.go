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
//	sqlite     synchronous=normal, busy=30s, max_size=1000000000, readable_state=true
//	redis      prefix=app:, ttl=720h, accept_weaker=true
//	mysql      schema=verify, max_conns=32, patience=30s, readable_state=true
//	postgres   schema=verify, max_conns=32, patience=30s, readable_state=true, prepare_statements=true
//
// The packages say what they mean. Other settings go to the driver of a server, as in tls=true for MySQL and
// sslmode=verify-full for PostgreSQL; where there is none, they are an error. Who imports this package links the
// drivers of all savers; to link one, import its saver instead.
package open

import (
	"context"
	"errors"
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
	URL    string // without its password; empty when it cannot be parsed
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
	u, err := url.Parse(rawURL)
	if err != nil {
		var parse *url.Error // it shows the whole URL, with its password
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, &URLError{Reason: "the URL cannot be parsed: " + err.Error()}
	}
	schemes := schemes()
	i := slices.IndexFunc(schemes, func(s scheme) bool { return slices.Contains(s.names, u.Scheme) })
	if i < 0 {
		return nil, unknownScheme(u, schemes)
	}
	s := settings{u: u, values: u.Query()}
	return schemes[i].open(ctx, &s)
}

// scheme is a kind of URL and who opens it.
type scheme struct {
	names []string
	open  func(ctx context.Context, s *settings) (checkpoint.Saver, error)
}

func schemes() []scheme {
	return []scheme{
		{[]string{"memory"}, openMemory},
		{[]string{"file"}, openFile},
		{[]string{"sqlite"}, openSQLite},
		{[]string{"redis", "rediss"}, openRedis},
		{[]string{"mysql"}, openMySQL},
		{[]string{"postgres", "postgresql"}, openPostgres},
	}
}

func unknownScheme(u *url.URL, schemes []scheme) error {
	var known []string
	for _, s := range schemes {
		known = append(known, s.names[0]+":")
	}
	reason := fmt.Sprintf("no saver has the scheme %q; want one of %s", u.Scheme, strings.Join(known, ", "))
	if u.Scheme == "" {
		reason = "it has no scheme; want one of " + strings.Join(known, ", ")
	}
	return &URLError{URL: u.Redacted(), Reason: reason}
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
	if err := s.end(); err != nil {
		return nil, err
	}
	return opened(file.Open(path))
}

// opened makes nothing of a saver that was not opened: a nil of its type is not a nil checkpoint.Saver.
func opened[S checkpoint.Saver](saver S, err error) (checkpoint.Saver, error) {
	if err != nil {
		return nil, err
	}
	return saver, nil
}

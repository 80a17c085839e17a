package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parse reads a URL or a string of key=value. Its errors quote nothing that a password can be part
// of.
func parse(url string) (*pgxpool.Config, error) {
	if stray(url) {
		return nil, errors.New("an @ stands after the host: a password has to be percent-encoded in a URL, / as %2F and @ as %40, " +
			"and so has an @ in a setting")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New(fault(err))
	}
	return config, nil
}

// stray reports whether an @ stands in a URL where pgx takes what is before it for a host, a
// database or a setting.
func stray(url string) bool {
	_, rest, isURL := strings.Cut(url, "://")
	if !isURL || !strings.HasPrefix(url, "postgres") {
		return false
	}
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		rest = rest[i+1:]
	}
	return strings.Contains(rest, "@")
}

// fault says why pgx does not take a URL. The error of pgx holds all of it, and may quote any
// part.
func fault(err error) string {
	const form = "want postgres://user:password@host:5432/database, with a password percent-encoded, or host=... password=..."
	var e *pgconn.ParseConfigError
	if !errors.As(err, &e) {
		return "it cannot be parsed: " + form
	}
	e.ConnString = ""
	reason := strings.TrimPrefix(e.Error(), "cannot parse ``: ")
	if strings.HasPrefix(reason, "failed to configure TLS") { // it may name files
		return reason
	}
	if inner := errors.Unwrap(e); inner != nil {
		reason = strings.TrimSuffix(reason, " ("+inner.Error()+")")
	}
	reason, _, _ = strings.Cut(reason, ": ") // a value comes next
	return reason + ": " + form
}

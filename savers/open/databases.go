package open

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/redis"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func openSQLite(_ context.Context, s *settings) (checkpoint.Saver, error) {
	path := s.path()
	var opts []sqlite.Option
	if s.one("synchronous", "full", "normal") == "normal" {
		opts = append(opts, sqlite.Synchronous(sqlite.Normal))
	}
	if d := s.duration("busy_timeout"); d > 0 {
		opts = append(opts, sqlite.BusyTimeout(d))
	}
	if n := s.number("max_size", 64); n > 0 {
		opts = append(opts, sqlite.MaxSize(n))
	}
	if s.yes("readable_state") {
		opts = append(opts, sqlite.ReadableState())
	}
	if s.yes("shared_folder") {
		opts = append(opts, sqlite.SharedFolder())
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return opened(sqlite.Open(path, opts...))
}

// tables returns the options that all savers for database servers share.
func tables[O any](s *settings, verify func() O, conns func(int) O, retry func(time.Duration) O, readable func(...func([]byte) ([]byte, error)) O) (opts []O) {
	if s.one("schema", "create", "verify") == "verify" {
		opts = append(opts, verify())
	}
	if n := s.number("max_conns", 16); n > 0 {
		opts = append(opts, conns(int(n)))
	}
	if d := s.duration("retry_timeout"); d > 0 {
		opts = append(opts, retry(d))
	}
	if s.yes("readable_state") {
		opts = append(opts, readable())
	}
	return opts
}

func openMySQL(ctx context.Context, s *settings) (checkpoint.Saver, error) {
	opts := tables(s, mysql.VerifySchema, mysql.MaxConns, mysql.RetryTimeout, mysql.ReadableState)
	if s.err != nil {
		return nil, s.err
	}
	return opened(mysql.Open(ctx, mysqlDSN(s), opts...))
}

// mysqlDSN returns the DSN of the MySQL driver for a URL.
func mysqlDSN(s *settings) string {
	config := mysqldriver.NewConfig()
	config.User = s.u.User.Username()
	config.Passwd, _ = s.u.User.Password()
	config.Net, config.Addr = "tcp", s.u.Host
	config.DBName = strings.TrimPrefix(s.u.Path, "/")
	dsn := config.FormatDSN()
	if len(s.values) == 0 {
		return dsn
	}
	if strings.Contains(dsn[strings.LastIndexByte(dsn, '/'):], "?") {
		return dsn + "&" + s.values.Encode()
	}
	return dsn + "?" + s.values.Encode()
}

func openPostgres(ctx context.Context, s *settings) (checkpoint.Saver, error) {
	opts := tables(s, postgres.VerifySchema, postgres.MaxConns, postgres.RetryTimeout, postgres.ReadableState)
	if s.yes("prepare_statements") {
		opts = append(opts, postgres.PrepareStatements())
	}
	if s.err != nil {
		return nil, s.err
	}
	u := *s.u
	u.RawQuery = s.values.Encode()
	return opened(postgres.Open(ctx, u.String(), opts...))
}

func openRedis(_ context.Context, s *settings) (checkpoint.Saver, error) {
	opts := []redis.Option{redis.CloseClient()}
	if prefix := s.take("prefix"); prefix != "" {
		opts = append(opts, redis.Prefix(prefix))
	}
	if d := s.duration("ttl"); d > 0 {
		opts = append(opts, redis.TTL(d))
	}
	if s.yes("allow_unsafe_settings") {
		opts = append(opts, redis.AllowUnsafeSettings(nil))
	}
	c, err := redisClient(s)
	if err != nil {
		return nil, err
	}
	saver, err := redis.New(c, opts...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return saver, nil
}

// redisClient returns the client for a URL, for one server or for a cluster.
func redisClient(s *settings) (goredis.UniversalClient, error) {
	cluster := s.yes("cluster")
	u := *s.u
	u.RawQuery = s.values.Encode()
	one, many, err := parseRedis(&u, cluster)
	if err != nil {
		s.err = errors.Join(s.err, s.bad(redisFault(s, cluster)))
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case cluster:
		return goredis.NewClusterClient(many), nil
	}
	return goredis.NewClient(one), nil
}

func parseRedis(u *url.URL, cluster bool) (one *goredis.Options, many *goredis.ClusterOptions, err error) {
	if cluster {
		many, err = goredis.ParseClusterURL(u.String())
	} else {
		one, err = goredis.ParseURL(u.String())
	}
	return one, many, err
}

// redisFault describes the part of a URL that the driver rejects. The driver's own error quotes
// values, which may be secret.
func redisFault(s *settings, cluster bool) string {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		alone := url.URL{Scheme: s.u.Scheme, Host: "localhost", RawQuery: url.Values{name: s.values[name]}.Encode()}
		if _, _, err := parseRedis(&alone, cluster); err != nil {
			return fmt.Sprintf("there is no setting %q, or it does not take this value", name)
		}
	}
	return "want redis://user:password@host:port/0, where 0 is the number of the database"
}

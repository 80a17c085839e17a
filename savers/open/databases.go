package open

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
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

// openSQLite opens the saver of a sqlite URL.
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
	if s.one("mode", "ro", "rwc") == "ro" {
		opts = append(opts, sqlite.ReadOnly())
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

// openMySQL opens the saver of a mysql URL.
func openMySQL(ctx context.Context, s *settings) (checkpoint.Saver, error) {
	opts := tables(s, mysql.VerifySchema, mysql.MaxConns, mysql.RetryTimeout, mysql.ReadableState)
	if s.err != nil {
		return nil, s.err
	}
	config := mysqlConfig(s)
	if s.err != nil {
		return nil, s.err
	}
	return opened(mysql.OpenConfig(ctx, config, opts...))
}

// mysqlConfig returns the configuration of the MySQL driver for a URL.
func mysqlConfig(s *settings) *mysqldriver.Config {
	network, addr, database := mysqlPlace(s)
	mode, certificates := mysqlTLS(s), s.certificates()
	if s.values.Has("strict") { // the driver would panic
		s.err = errors.Join(s.err, s.bad(`there is no setting "strict"; remove it`))
		return nil
	}
	// A DSN ends at its last slash.
	settings := strings.ReplaceAll(s.rest(), "/", "%2F")
	config, err := mysqldriver.ParseDSN("/?" + settings)
	if err != nil {
		s.err = errors.Join(s.err, s.bad(mysqlFault(settings)))
		return nil
	}
	config.Net, config.Addr, config.DBName = network, addr, database
	config.User = s.u.User.Username()
	config.Passwd, _ = s.u.User.Password()
	if mode != "" {
		config.TLSConfig = mode
	}
	if certificates != nil {
		if config.TLSConfig == "false" {
			s.err = errors.Join(s.err, s.bad("it names certificates, but it turns TLS off; remove one of both"))
		}
		certificates.InsecureSkipVerify = config.TLSConfig == "skip-verify" && certificates.RootCAs == nil //nolint:gosec // the URL asks for it
		config.TLS = certificates
	}
	return config
}

// mysqlPlace returns the address of a server and the database. The address of a socket is the
// setting socket or unix_socket, or is written as in a DSN:
// mysql://user@unix(/run/mysql.sock)/app.
func mysqlPlace(s *settings) (network, addr, database string) {
	path := s.u.Path
	socket := cmp.Or(s.take("socket"), s.take("unix_socket"))
	if within, rest, ends := strings.Cut(path, ")"); ends && s.u.Host == "unix(" {
		socket, path = within, rest
	} else if socket != "" && s.u.Hostname() != "" && s.u.Hostname() != "localhost" {
		s.err = errors.Join(s.err, s.bad("it names a host and a socket; remove one of both"))
	}
	if database = strings.TrimPrefix(path, "/"); socket != "" {
		return "unix", socket, database
	}
	return "tcp", net.JoinHostPort(cmp.Or(s.u.Hostname(), "127.0.0.1"), cmp.Or(s.u.Port(), "3306")), database
}

// mysqlTLS returns the driver's setting for the mode of TLS that clients of MySQL and of other
// servers have: ssl-mode=REQUIRED, sslmode=require. It is empty if there is none.
func mysqlTLS(s *settings) string {
	value := cmp.Or(s.take("ssl-mode"), s.take("ssl_mode"), s.take("sslmode"))
	switch strings.ReplaceAll(strings.ToLower(value), "_", "-") {
	case "":
		return ""
	case "disabled", "disable":
		return "false"
	case "preferred", "prefer":
		return "preferred"
	case "required", "require":
		return "skip-verify"
	case "verify-ca", "verify-identity", "verify-full":
		return "true"
	}
	s.wrong("ssl-mode", value, "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
	return ""
}

// mysqlFault describes the setting that the driver rejects. The driver's own error quotes values.
func mysqlFault(settings string) string {
	for setting := range strings.SplitSeq(settings, "&") {
		if _, err := mysqldriver.ParseDSN("/?" + setting); err != nil {
			name, _, _ := strings.Cut(setting, "=")
			return fmt.Sprintf("the setting %q does not take this value; correct it, or remove it", name)
		}
	}
	return "its settings cannot be parsed"
}

// openPostgres opens the saver of a postgres URL.
func openPostgres(ctx context.Context, s *settings) (checkpoint.Saver, error) {
	opts := tables(s, postgres.VerifySchema, postgres.MaxConns, postgres.RetryTimeout, postgres.ReadableState)
	if s.yes("prepare_statements") {
		opts = append(opts, postgres.PrepareStatements())
	}
	if s.err != nil {
		return nil, s.err
	}
	return opened(postgres.Open(ctx, postgresURL(s), opts...))
}

// postgresURL returns the URL of the PostgreSQL driver.
func postgresURL(s *settings) string {
	u := *s.u
	u.RawQuery = s.rest()
	return u.String()
}

// openRedis opens the saver of a redis URL, whose Close also closes the client.
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

// redisClient returns the client for a URL: for one server, for one behind sentinels, or for a
// cluster.
func redisClient(s *settings) (goredis.UniversalClient, error) {
	cluster, auth := s.yes("cluster"), s.yes("sentinel_auth")
	certificates := s.certificates()
	o := parseRedis(s, cluster, auth)
	if s.err != nil {
		return nil, s.err
	}
	if certificates != nil && !o.trust(certificates) {
		return nil, s.bad("it names certificates, but no TLS; want rediss:")
	}
	switch {
	case o.many != nil:
		return goredis.NewClusterClient(o.many), nil
	case o.failover != nil:
		return goredis.NewFailoverClient(o.failover), nil
	}
	return goredis.NewClient(o.one), nil
}

// redisOptions are the options of one kind of client.
type redisOptions struct {
	one      *goredis.Options
	failover *goredis.FailoverOptions
	many     *goredis.ClusterOptions
}

// trust adds certificates, and reports whether the client uses TLS.
func (o *redisOptions) trust(certificates *tls.Config) bool {
	var config *tls.Config
	switch {
	case o.many != nil:
		config = o.many.TLSConfig
	case o.failover != nil:
		config = o.failover.TLSConfig
	default:
		config = o.one.TLSConfig
	}
	if config == nil {
		return false
	}
	config.RootCAs, config.Certificates = certificates.RootCAs, certificates.Certificates
	return true
}

// parseRedis returns the options for a URL. auth says that the sentinels have the user and the
// password of the servers.
func parseRedis(s *settings, cluster, auth bool) *redisOptions {
	u := *s.u
	u.RawQuery = s.rest()
	scheme, sentinels := strings.CutSuffix(u.Scheme, "-sentinel")
	switch {
	case sentinels && cluster:
		s.err = errors.Join(s.err, s.bad("sentinels watch one server, and no cluster; remove the setting cluster"))
	case auth && !sentinels:
		s.err = errors.Join(s.err, s.bad("sentinel_auth needs redis-sentinel: or rediss-sentinel:"))
	case sentinels:
		u.Scheme = scheme
		s.sentinels(&u)
	case u.Scheme == "redis+unix":
		u.Scheme = "unix"
	}
	if s.err != nil {
		return nil
	}
	o, err := redisOptionsOf(&u, cluster, sentinels)
	if err != nil {
		s.err = errors.Join(s.err, s.bad(redisFault(&u, cluster, sentinels)))
		return nil
	}
	if f := o.failover; f != nil {
		f.Username, f.Password = f.SentinelUsername, f.SentinelPassword
		if !auth {
			f.SentinelUsername, f.SentinelPassword = "", ""
		}
		if f.TLSConfig != nil {
			f.TLSConfig.ServerName = "" // each server and sentinel has its own name
		}
	}
	return o
}

// sentinels writes a URL as the client reads it: hosts after the first and the name of the server
// are settings, redis://host/0?addr=host2&master_name=main.
func (s *settings) sentinels(u *url.URL) {
	hosts := strings.Split(u.Host, ",")
	name, db, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if name == "" {
		s.err = errors.Join(s.err, s.bad("it does not name the server that the sentinels watch; want "+s.u.Scheme+"://host:26379/name"))
	}
	more := url.Values{"master_name": {name}}
	for _, host := range hosts[1:] {
		more.Add("addr", host)
	}
	u.Host, u.Path, u.RawPath = hosts[0], db, ""
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+more.Encode(), "&")
}

// redisOptionsOf parses the rest of a redis URL by the functions of the client.
func redisOptionsOf(u *url.URL, cluster, sentinels bool) (o *redisOptions, err error) {
	o = new(redisOptions)
	switch {
	case cluster:
		o.many, err = goredis.ParseClusterURL(u.String())
	case sentinels:
		o.failover, err = goredis.ParseFailoverURL(u.String())
	default:
		o.one, err = goredis.ParseURL(u.String())
	}
	return o, err
}

// redisFault describes the part of a URL that the driver rejects. The driver's own error quotes
// values, which may be secret.
func redisFault(u *url.URL, cluster, sentinels bool) string {
	values := u.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		alone := url.URL{Scheme: u.Scheme, Host: "localhost", RawQuery: url.Values{name: values[name]}.Encode()}
		if u.Scheme == "unix" {
			alone.Host, alone.Path = "", "/socket"
		}
		if _, err := redisOptionsOf(&alone, cluster, sentinels); err != nil {
			return fmt.Sprintf("there is no setting %q, or it does not take this value; correct it, or remove it", name)
		}
	}
	return "want redis://user:password@host:port/0, where 0 is the number of the database"
}

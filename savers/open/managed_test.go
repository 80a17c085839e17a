package open_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/open"
)

func driver(t *testing.T, rawURL string) any {
	t.Helper()
	got, err := open.Driver(rawURL)
	if err != nil {
		t.Fatalf("%s: %v", rawURL, err)
	}
	return got
}

// TestMySQLURLs has URLs as managed services print them.
func TestMySQLURLs(t *testing.T) {
	for rawURL, want := range map[string]struct{ user, password, network, addr, database, tls string }{
		// Aiven, DigitalOcean
		"mysql://avnadmin:AVNS_x@mysql-1.aivencloud.com:25060/defaultdb?ssl-mode=REQUIRED": {"avnadmin", "AVNS_x", "tcp", "mysql-1.aivencloud.com:25060", "defaultdb", "skip-verify"},
		// Azure
		"mysql://app%40server:p%2Fw@server.mysql.database.azure.com:3306/app?sslmode=require": {"app@server", "p/w", "tcp", "server.mysql.database.azure.com:3306", "app", "skip-verify"},
		// PlanetScale, TiDB
		"mysql://2x.root:pscale_pw_x@aws.connect.psdb.cloud/app?ssl_mode=verify_identity": {"2x.root", "pscale_pw_x", "tcp", "aws.connect.psdb.cloud:3306", "app", "true"},
		"mysql://u:p@gateway01.eu-central-1.prod.aws.tidbcloud.com:4000/test?tls=true":    {"u", "p", "tcp", "gateway01.eu-central-1.prod.aws.tidbcloud.com:4000", "test", "true"},
		// Cloud SQL
		"mysql://app:pw@unix(/cloudsql/p:r:i)/app":              {"app", "pw", "unix", "/cloudsql/p:r:i", "app", ""},
		"mysql://app:pw@/app?socket=/cloudsql/p:r:i":            {"app", "pw", "unix", "/cloudsql/p:r:i", "app", ""},
		"mysql://app@localhost/app?unix_socket=%2Frun%2Fm.sock": {"app", "", "unix", "/run/m.sock", "app", ""},
		// Railway, and hosts that are addresses
		"mysql://root:pw@mysql.railway.internal:3306/railway": {"root", "pw", "tcp", "mysql.railway.internal:3306", "railway", ""},
		"mysql://root@[::1]/a%2Fb%20c?ssl-mode=disabled":      {"root", "", "tcp", "[::1]:3306", "a/b c", "false"},
		"mysql://u%3Aser:p%3A%40%2F%3F%23%25w%28%29@h/app":    {"u:ser", "p:@/?#%w()", "tcp", "h:3306", "app", ""},
	} {
		got, _ := driver(t, rawURL).(mysqldriver.Config)
		if got.User != want.user || got.Passwd != want.password || got.Net != want.network || got.Addr != want.addr || got.DBName != want.database || got.TLSConfig != want.tls {
			t.Errorf("%s: got %q %q %s(%s) %q tls=%s, want %q", rawURL, got.User, got.Passwd, got.Net, got.Addr, got.DBName, got.TLSConfig, want)
		}
	}
}

// TestSettingsReachTheDriverOfMySQL compares a URL with a DSN that has the same settings.
func TestSettingsReachTheDriverOfMySQL(t *testing.T) {
	for _, settings := range []string{
		"charset=utf8mb4,utf8", "loc=America%2FNew_York&parseTime=true", "time_zone=%27%2B00%3A00%27", "timeout=5s&readTimeout=1m",
		"connectionAttributes=program_name:a%20b", "collation=utf8mb4_bin&maxAllowedPacket=0", "sql_mode=%27ANSI%27&a=b+c",
	} {
		want, err := mysqldriver.ParseDSN("tcp(h:3306)/app?" + settings)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := driver(t, "mysql://h/app?max_conns=3&"+settings).(mysqldriver.Config)
		got.Params, want.Params = params(got.Params), params(want.Params)
		if got.FormatDSN() != want.FormatDSN() || !reflect.DeepEqual(got.Params, want.Params) {
			t.Errorf("%s: got %s, want %s", settings, got.FormatDSN(), want.FormatDSN())
		}
	}
}

// params returns parameters without the settings of this package.
func params(of map[string]string) map[string]string {
	left := make(map[string]string)
	for name, value := range of {
		if name != "max_conns" { // Driver does not open the saver, and so does not take it
			left[name] = value
		}
	}
	return left
}

// TestPostgresURLs compares URLs of managed services with what pgx makes of them.
func TestPostgresURLs(t *testing.T) {
	for _, rawURL := range []string{
		"postgresql://u:npg_x@ep-cool-1.eu-central-1.aws.neon.tech/neondb?sslmode=require&options=endpoint%3Dep-cool-1",
		"postgresql://postgres.ref:p%5Bw%5D@aws-0-eu-central-1.pooler.supabase.com:6543/postgres",
		"postgres://u:p@ec2-1.compute.amazonaws.com:5432/d?sslmode=require",
		"postgres://app%40server:p%40%2F%3Aw@server.postgres.database.azure.com:5432/app?sslmode=require",
		"postgresql://doadmin:AVNS_x@db-1.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require",
		"postgresql://u:p@free-tier.gcp.cockroachlabs.cloud:26257/defaultdb?sslmode=disable&options=--cluster%3Dname-1",
		"postgres:///app?host=/cloudsql/p:r:i&user=app&password=pw",
		"postgres://u:p@h/app?options=-c%20search_path%3Dapp%20-c%20geqo%3Doff&application_name=a%20b+c&sslmode=disable",
		"postgres://u:p@h1:5432,h2:5433/app?target_session_attrs=read-write&sslmode=disable",
	} {
		want, err := pgx.ParseConfig(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := driver(t, rawURL).(string)
		got, err := pgx.ParseConfig(at)
		if err != nil {
			t.Errorf("%s became %s: %v", rawURL, at, err)
			continue
		}
		if got.Host != want.Host || got.Port != want.Port || got.Database != want.Database || got.User != want.User || got.Password != want.Password ||
			!reflect.DeepEqual(got.RuntimeParams, want.RuntimeParams) || len(got.Fallbacks) != len(want.Fallbacks) || (got.TLSConfig == nil) != (want.TLSConfig == nil) {
			t.Errorf("%s became %s", rawURL, at)
		}
	}
}

func TestRedisURLs(t *testing.T) {
	type place struct {
		network, addr, user, password string
		db                            int
		tls                           bool
	}
	for rawURL, want := range map[string]place{
		"rediss://default:AX_x@eu1-x.upstash.io:6379":                   {"tcp", "eu1-x.upstash.io:6379", "default", "AX_x", 0, true},
		"rediss://:p%2Fw%3D@name.redis.cache.windows.net:6380/1":        {"tcp", "name.redis.cache.windows.net:6380", "", "p/w=", 1, true},
		"rediss://:p@ec2-1.compute.amazonaws.com:6380?skip_verify=true": {"tcp", "ec2-1.compute.amazonaws.com:6380", "", "p", 0, true},
		"redis://default:p%20w+x@redis-1.c1.cloud.redislabs.com:10000":  {"tcp", "redis-1.c1.cloud.redislabs.com:10000", "default", "p w+x", 0, false},
		"redis://red-x:6379":                                                    {"tcp", "red-x:6379", "", "", 0, false},
		"redis+unix://app:pw@/run/redis/redis.sock?db=2":                        {"unix", "/run/redis/redis.sock", "app", "pw", 2, false},
		"redis-sentinel://app:pw@s1:26379,s2:26379/main/3":                      {"tcp", "FailoverClient", "app", "pw", 3, false},
		"rediss-sentinel://app:pw@s1:26379/main?addr=s2:26379&read_timeout=20s": {"tcp", "FailoverClient", "app", "pw", 0, true},
	} {
		o, _ := driver(t, rawURL).(goredis.Options)
		if got := (place{o.Network, o.Addr, o.Username, o.Password, o.DB, o.TLSConfig != nil}); got != want {
			t.Errorf("%s: got %v, want %v", rawURL, got, want)
		}
	}
	many, _ := driver(t, "rediss://u:p%40w@a:1?cluster=true&addr=b:2&addr=c:3&read_timeout=7s").(goredis.ClusterOptions)
	if len(many.Addrs) != 3 || many.Password != "p@w" || many.TLSConfig == nil || many.ReadTimeout != 7*time.Second {
		t.Errorf("a cluster: got %q, %v, %v, want 3 addresses, the password and TLS", many.Addrs, many.TLSConfig != nil, many.ReadTimeout)
	}
}

func TestPathsReachTheirDriver(t *testing.T) {
	for rawURL, want := range map[string]string{
		"sqlite:///var/lib/a%20b%3Fc%23d%25.db?synchronous=normal": "/var/lib/a b?c#d%.db",
		"sqlite:threads.db":                "threads.db",
		"sqlite:a%2Fb+c.db":                "a/b+c.db",
		"file:///mnt/fileshare/t%C3%A4st":  "/mnt/fileshare/täst",
		"file://localhost/var/lib/app/a@b": "",
		"file:a@b":                         "a@b",
	} {
		got, err := open.Driver(rawURL)
		if want == "" {
			if err == nil {
				t.Errorf("%s: got %v, want an error", rawURL, got)
			}
			continue
		}
		if err != nil || got != filepath.FromSlash(want) {
			t.Errorf("%s: got %v, %v, want %q", rawURL, got, err, want)
		}
	}
}

// TestRedisBehindSentinels opens a URL that names a sentinel, and loses the primary.
func TestRedisBehindSentinels(t *testing.T) {
	s := testenv.StartRedisSentinel(t)
	remembers(t, "redis-sentinel://"+s.Addr+"/"+s.Name, true)
}

// TestClientCertificatesByURL reads files of certificates for redis and mysql.
func TestClientCertificatesByURL(t *testing.T) {
	cert, key := certificate(t)
	files := url.Values{"sslcert": {cert}, "sslkey": {key}, "sslrootcert": {cert}}.Encode()
	o, _ := driver(t, "rediss://h:6379?"+files).(goredis.Options)
	if o.TLSConfig == nil || len(o.TLSConfig.Certificates) != 1 || o.TLSConfig.RootCAs == nil {
		t.Errorf("redis: got %v, want a certificate and an authority", o.TLSConfig)
	}
	config, _ := driver(t, "mysql://h/app?ssl-mode=REQUIRED&"+files).(mysqldriver.Config)
	if config.TLS == nil || len(config.TLS.Certificates) != 1 || config.TLS.RootCAs == nil || config.TLS.InsecureSkipVerify {
		t.Errorf("mysql: got %v, want a certificate and an authority that verifies the server", config.TLS)
	}
	for rawURL, want := range map[string]string{
		"redis://h:6379?" + files:                           "want rediss:",
		"mysql://h/app?ssl-mode=DISABLED&" + files:          "turns TLS off; remove one of both",
		"mysql://h/app?ssl-mode=sometimes":                  `ssl-mode is "sometimes"; want DISABLED`,
		"mysql://h/app?strict=true":                         `no setting "strict"; remove it`,
		"mysql://h/app?parseTime=perhaps":                   `"parseTime" does not take this value`,
		"mysql://h/app?socket=/run/m.sock":                  "a host and a socket; remove one of both",
		"rediss://h:6379?sslcert=" + cert:                   "sslcert and sslkey",
		"rediss://h:6379?sslrootcert=" + key:                "no certificate in PEM; name the file of the authority",
		"redis-sentinel://h:26379":                          "want redis-sentinel://host:26379/name",
		"redis-sentinel://h:26379/main?cluster=true":        "no cluster; remove the setting cluster",
		"redis://h:6379?sentinel_auth=true":                 "needs redis-sentinel:",
		"redis-sentinel://u:secret@h:26379/main?nonsense=1": `no setting "nonsense", or it does not take this value; correct it, or remove it`,
		"file:":         "no path; want file:///folder/name, or file:name",
		"file://u@/x":   "remove the user",
		"sqlite:thr%zz": "want it percent-encoded",
	} {
		if got, err := open.Driver(rawURL); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v, want an error about %q", rawURL, got, err, want)
		}
	}
}

// certificate makes the files of a certificate.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pattern := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &pattern, &pattern, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret)
}

// TestTLSOnOneSideOnly has a server with TLS and a client without, and a client with TLS and a
// server without.
func TestTLSOnOneSideOnly(t *testing.T) {
	addr, _ := testenv.Redis(t)
	_, err := open.Saver(t.Context(), "rediss://"+addr+"?dial_timeout=200ms")
	if err == nil || !strings.Contains(err.Error(), "want redis://") {
		t.Errorf("a server without TLS: got %v, want an error that guesses so", err)
	}
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1)) // shakes hands
			_ = conn.Close()
		}
	}()
	at := listener.Addr().String()
	for rawURL, want := range map[string]string{
		"redis://" + at + "?max_retries=-1":  "use rediss://",
		"rediss://" + at + "?max_retries=-1": "certificate",
	} {
		s, err := open.Saver(t.Context(), rawURL)
		if err == nil {
			t.Errorf("%s was opened", rawURL)
			_ = s.Close() // the test has failed
			continue
		}
		if !strings.Contains(err.Error(), want) || errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("%s: got %v, want an error about %q that is not ErrUnavailable", rawURL, err, want)
		}
	}
}

// TestPostgresWithoutTLS has a server that refuses TLS: another attempt would not help.
func TestPostgresWithoutTLS(t *testing.T) {
	at := strings.Replace(testenv.Postgres(t), "sslmode=disable", "sslmode=require", 1)
	_, err := open.Saver(t.Context(), at)
	if err == nil || !strings.Contains(err.Error(), "refused TLS") || errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("got %v, want an error about TLS that is not ErrUnavailable", err)
	}
}

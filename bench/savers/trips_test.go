package savers_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	graphmysql "github.com/graphgen-go/graphgen/savers/mysql"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// TestASuperstepIsOneRoundTrip runs 5 and 105 supersteps through a proxy that counts.
func TestASuperstepIsOneRoundTrip(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (*testenv.Proxy, checkpoint.Saver){
		"redis": redisThrough, "mysql": mysqlThrough, "postgres": postgresThrough,
	} {
		t.Run(name, func(t *testing.T) {
			proxy, saver := open(t)
			trips := func(thread string, steps int) int {
				before := proxy.RoundTrips()
				talk(t, saver, thread, steps)
				return proxy.RoundTrips() - before
			}
			trips("warm", 5) // connects, and prepares statements
			short, long := trips("short", 5), trips("long", 105)
			t.Logf("a run of 5 supersteps takes %d round trips, of 105 %d", short, long)
			if got := long - short; got != 100 {
				t.Errorf("100 supersteps took %d round trips, want 100", got)
			}
		})
	}
}

func redisThrough(t *testing.T) (*testenv.Proxy, checkpoint.Saver) {
	t.Helper()
	addr, prefix := testenv.Redis(t)
	proxy := testenv.NewProxy(t, addr)
	client := closes(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr}))
	return proxy, closes(t, must(redis.New(client, redis.Prefix(prefix), redis.AllowUnsafeSettings(nil)))(t))
}

func mysqlThrough(t *testing.T) (*testenv.Proxy, checkpoint.Saver) {
	t.Helper()
	config := must(mysql.ParseDSN(testenv.MySQL(t)))(t)
	proxy := testenv.NewProxy(t, config.Addr)
	config.Addr = proxy.Addr
	return proxy, closes(t, must(graphmysql.Open(t.Context(), config.FormatDSN()))(t))
}

func postgresThrough(t *testing.T) (*testenv.Proxy, checkpoint.Saver) {
	t.Helper()
	dsn := testenv.Postgres(t)
	u := must(url.Parse(dsn))(t)
	proxy := testenv.NewProxy(t, u.Host)
	return proxy, closes(t, must(postgres.Open(t.Context(), strings.Replace(dsn, u.Host, proxy.Addr, 1)))(t))
}

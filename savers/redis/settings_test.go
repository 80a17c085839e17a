package redis_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/pack/packtest"
	"github.com/graphgen-go/graphgen/savers/redis"
)

func TestNewRefusesAServerThatMayLoseCheckpoints(t *testing.T) {
	server := testenv.StartRedis(t, true)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	ctx := t.Context()
	set := func(name, value string) {
		t.Helper()
		if err := client.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := redis.New(client); err != nil {
		t.Fatalf("a durable server: %v", err)
	}
	for _, c := range []struct{ name, value, good string }{
		{"appendfsync", "everysec", "always"},
		{"appendfsync", "no", "always"},
		{"appendonly", "no", "yes"},
		{"maxmemory-policy", "allkeys-lru", "noeviction"},
		{"maxmemory-policy", "volatile-ttl", "noeviction"},
	} {
		set(c.name, c.value)
		want := redis.Setting{Server: server.Addr, Name: c.name, Found: c.value, Want: c.good}
		_, err := redis.New(client)
		var weak *redis.SettingsError
		if !errors.As(err, &weak) || len(weak.Settings) != 1 || weak.Settings[0] != want {
			t.Errorf("%s %s: got %v, want a *SettingsError of %+v", c.name, c.value, err, want)
		}
		var reported error
		if _, err := redis.New(client, redis.AllowUnsafeSettings(func(err error) { reported = err })); err != nil {
			t.Errorf("%s %s, accepted: %v", c.name, c.value, err)
		}
		if weak = nil; !errors.As(reported, &weak) || weak.Settings[0] != want {
			t.Errorf("%s %s: reported %v, want a *SettingsError of %+v", c.name, c.value, reported, want)
		}
		set(c.name, c.good)
	}
}

func TestSettingsThatTheServerHidesAreReported(t *testing.T) {
	server := testenv.StartRedis(t, true)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	if err := client.Do(t.Context(), "ACL", "SETUSER", "app", "on", "nopass", "~*", "+@all", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	app := goredis.NewClient(&goredis.Options{Addr: server.Addr, Username: "app", Password: "any"})
	defer app.Close()
	_, err := redis.New(app)
	var weak *redis.SettingsError
	if !errors.As(err, &weak) || len(weak.Settings) != 3 || weak.Settings[0].Found != "" {
		t.Fatalf("got %v, want a *SettingsError of 3 unknown settings", err)
	}
	if !strings.Contains(err.Error(), "unknown") || !strings.Contains(err.Error(), "AllowUnsafeSettings") {
		t.Errorf("the error %q does not say that they are unknown, or what to do", err)
	}
	s, err := redis.New(app, redis.AllowUnsafeSettings(nil))
	if err != nil {
		t.Fatal(err)
	}
	begin(t, s, "a").commit()
}

// commands are the commands that docs/savers.md lists for a user with ACLs.
const commands = "EVAL EVALSHA SCRIPT|LOAD PING EXISTS GET SCAN SETNX HDEL HEXISTS HGET HSET PERSIST PEXPIRE TIME " +
	"ZADD ZLEXCOUNT ZRANGEBYLEX ZRANGEBYSCORE ZREM ZREMRANGEBYLEX ZREVRANGEBYLEX ZSCORE"

// storeCommands are the other commands that a user of the store needs.
const storeCommands = "HGETALL PUBLISH SUBSCRIBE"

// userOf returns a client of a user who may only run commands that docs/savers.md lists.
func userOf(t *testing.T, commands string) *goredis.Client {
	t.Helper()
	server := testenv.StartRedis(t, true)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	rules := []any{"ACL", "SETUSER", "app", "on", "nopass", "~app:*", "&app:*", "-@all"}
	doc, err := os.ReadFile("../../docs/savers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range strings.Fields(commands) {
		if rules = append(rules, "+"+command); !strings.Contains(string(doc), "`"+strings.ReplaceAll(command, "|", " ")+"`") {
			t.Errorf("docs/savers.md does not list %s", command)
		}
	}
	if err := client.Do(t.Context(), rules...).Err(); err != nil {
		t.Fatal(err)
	}
	return goredis.NewClient(&goredis.Options{Addr: server.Addr, Username: "app", Password: "any"})
}

func TestAUserNeedsTheDocumentedCommandsAlone(t *testing.T) {
	app := userOf(t, commands)
	s := openOn(t, app, redis.Prefix("app:"), asked, redis.TTL(time.Hour))
	want, _ := turns(t, 20, s)
	packNow(t, s)
	packtest.Same(t, s, want)
	if err := checkpoint.Copy(t.Context(), s, packtest.Thread, 0, s, "copy"); err != nil {
		t.Error(err)
	}
	if _, err := s.Prune(t.Context(), packtest.Thread, checkpoint.Retention{Last: 20}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := s.Release(t.Context(), packtest.Thread, checkpoint.ID{}); err != nil {
			t.Error(err)
		}
		if err := s.Import(t.Context(), packtest.Thread, s.Export(t.Context(), "copy", 0)); err != nil {
			t.Error(err)
		}
	}
	if got, want := listThreads(t, s, checkpoint.ThreadQuery{}), []string{"copy", packtest.Thread}; !slices.Equal(got, want) {
		t.Errorf("got threads %q, want %q", got, want)
	}
	newest := checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, After: "zzz", AfterCreated: time.Now().Add(time.Hour)}
	if got, want := listThreads(t, s, newest), []string{packtest.Thread, "copy"}; !slices.Equal(got, want) && !slices.Equal(got, []string{"copy", packtest.Thread}) {
		t.Errorf("newest first: got threads %q, want %q in any order", got, want)
	}
	for _, thread := range []string{"copy", "new"} {
		post(t, s, thread, "conversation", message(checkpoint.InputMessage, "i"), message(checkpoint.WakeMessage, "w"))
		if got := mail(t, s, checkpoint.MailQuery{Thread: thread}); len(got) != 1 {
			t.Errorf("thread %s: got the messages %+v, want one", thread, got)
		}
	}
	if err := checkpoint.Copy(t.Context(), s, "copy", 0, s, "copy of messages"); err != nil {
		t.Error(err)
	}
	got, err := s.News(t.Context(), []string{"copy", "new", "copy of messages"})
	if err != nil || len(got) != 3 || got[0].Posted != 2 || got[1].Posted != 2 || got[2].Posted != 2 {
		t.Errorf("got the news %v, %v, want 2 messages of each", got, err)
	}
	if err := s.Delete(t.Context(), "new"); err != nil {
		t.Error(err)
	}
	if _, err := s.Release(t.Context(), "copy", checkpoint.ID{}); err != nil {
		t.Error(err)
	}
	if err := s.Rewake(t.Context(), checkpoint.Rewake{Thread: "copy", Posted: 2}); err != nil {
		t.Error(err)
	}
	due, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"conversation"}, Limit: 10, Reserve: time.Second})
	if err != nil || len(due.Threads) != 0 {
		t.Errorf("got the due threads %+v, %v, want none", due.Threads, err)
	}
	if err := s.Delete(t.Context(), packtest.Thread); err != nil {
		t.Error(err)
	}
}

func TestAUserOfTheStoreNeedsTheDocumentedCommandsAlone(t *testing.T) {
	b, err := openStore(userOf(t, commands+" "+storeCommands), "app:")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	stop, err := b.(store.Notifier).Notify(t.Context(), nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	putAll(t, b, many(100))
	fill(t, b)
	for what, q := range map[string]store.Query{
		"a page":  {Limit: 10},
		"a value": {Where: only("mod", "7"), Limit: 10},
		"a range": {Where: inRange("number", "000010", "000020"), Limit: 10},
	} {
		if n, err := finds(t, b, q)(); err != nil || n == 0 {
			t.Errorf("%s: got %d items, %v", what, n, err)
		}
	}
	if _, err := b.Namespaces(t.Context(), store.NamespaceQuery{}); err != nil {
		t.Error(err)
	}
	if _, err := b.Sweep(t.Context(), 10); err != nil {
		t.Error(err)
	}
}

func TestEveryNodeOfAClusterIsAsked(t *testing.T) {
	addrs, _ := testenv.RedisCluster(t)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	defer client.Close()
	_, err := redis.New(client)
	var weak *redis.SettingsError
	if !errors.As(err, &weak) {
		t.Fatalf("got %v, want a *SettingsError", err)
	}
	servers := map[string]bool{}
	for _, s := range weak.Settings {
		servers[s.Server] = true
	}
	if len(servers) != len(addrs) {
		t.Errorf("settings of %d nodes, want %d: %v", len(servers), len(addrs), err)
	}
}

func TestAPrefixWithBracesIsRefused(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	if _, err := redis.New(client, redis.Prefix("{app}:")); err == nil || !strings.Contains(err.Error(), "braces") {
		t.Errorf("got %v, want an error that speaks of braces", err)
	}
}

func TestARingIsRefused(t *testing.T) {
	client := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer client.Close()
	if _, err := redis.New(client, redis.AllowUnsafeSettings(nil)); err == nil || !strings.Contains(err.Error(), "Ring") {
		t.Errorf("got %v, want an error that names the client's type", err)
	}
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer client.Close()
	if _, err := redis.New(client, redis.AllowUnsafeSettings(nil)); err == nil {
		t.Error("got no error")
	}
}

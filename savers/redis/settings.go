package redis

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// SettingsError reports that a server may lose acknowledged writes, and the settings that cause
// this.
type SettingsError struct {
	Settings []Setting // sorted by server, then name
}

// Setting is one setting of one server that is weaker than it should be.
type Setting struct {
	Server string // host:port
	Name   string // as CONFIG GET has it
	Found  string // "" if the server does not report it
	Want   string
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	b.WriteString("redis: the server may lose acknowledged checkpoints:")
	for i, s := range e.Settings {
		if i > 0 {
			b.WriteByte(';')
		}
		found := s.Found
		if found == "" {
			found = "unknown (CONFIG GET is refused)"
		}
		fmt.Fprintf(&b, " %s: %s is %s, not %s", s.Server, s.Name, found, s.Want)
	}
	b.WriteString("; set them, or open the saver with AllowUnsafeSettings")
	return b.String()
}

// wanted are the settings of a server that loses nothing.
var wanted = [...]struct{ name, value string }{
	{"appendfsync", "always"},
	{"appendonly", "yes"},
	{"maxmemory-policy", "noeviction"},
}

// checkSettings asks every master. weak is nil when all is well.
func checkSettings(ctx context.Context, client goredis.UniversalClient) (weak *SettingsError, err error) {
	var mu sync.Mutex
	var found []Setting
	check := func(ctx context.Context, c *goredis.Client) error {
		settings, err := check1(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		found = append(found, settings...)
		return err
	}
	if err := eachMaster(ctx, client, check); err != nil {
		return nil, fmt.Errorf("redis: open: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].Server != found[j].Server {
			return found[i].Server < found[j].Server
		}
		return found[i].Name < found[j].Name
	})
	return &SettingsError{Settings: found}, nil
}

// eachMaster calls f for each master, concurrently.
func eachMaster(ctx context.Context, client goredis.UniversalClient, f func(context.Context, *goredis.Client) error) error {
	switch c := client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *goredis.Client:
		return f(ctx, c)
	}
	return nil
}

// check1 asks one server.
func check1(ctx context.Context, c *goredis.Client) ([]Setting, error) {
	if err := c.Ping(ctx).Err(); err != nil {
		return nil, err
	}
	var weak []Setting
	for _, want := range wanted {
		got, err := c.ConfigGet(ctx, want.name).Result()
		if err != nil && !refused(err) {
			return nil, err
		}
		if found := got[want.name]; found != want.value {
			weak = append(weak, Setting{Server: c.Options().Addr, Name: want.name, Found: found, Want: want.value})
		}
	}
	return weak, nil
}

// refused reports whether the server answered, but refused to show its settings.
func refused(err error) bool {
	_, answered := err.(goredis.Error) //nolint:errorlint // the client returns a server's answer as it is
	return answered
}

package redis

import (
	"context"
	"math"
	"strconv"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A server limits the size of an argument, and closes the connection of a client that sends a
// larger one. The client seldom gets the server's answer, and then only knows that the connection
// broke.
const (
	sizeSetting  = "proto-max-bulk-len"
	leastLimit   = 1 << 20   // that a server accepts as the setting
	defaultLimit = 512 << 20 // of a server that refuses CONFIG GET
)

// sized returns err, the error of a command with args, as a *checkpoint.SizeError if an argument
// is larger than the server accepts.
func (s *server) sized(ctx context.Context, err error, args []any) error {
	size := 0
	for _, arg := range args {
		switch v := arg.(type) {
		case []byte:
			size = max(size, len(v))
		case string:
			size = max(size, len(v))
		}
	}
	if size <= leastLimit || ctx.Err() != nil {
		return err
	}
	limit := s.sizeLimit(ctx)
	if int64(size) <= limit {
		return err
	}
	return &checkpoint.SizeError{Size: size, Limit: limit, Setting: sizeSetting + " of the server", Err: err}
}

// sizeLimit returns the least limit of the servers.
func (s *server) sizeLimit(ctx context.Context) int64 {
	var mu sync.Mutex
	limit := int64(math.MaxInt64)
	_ = eachMaster(ctx, s.client, func(ctx context.Context, c *goredis.Client) error {
		got, err := c.ConfigGet(ctx, sizeSetting).Result()
		if n, bad := strconv.ParseInt(got[sizeSetting], 10, 64); bad == nil {
			mu.Lock()
			defer mu.Unlock()
			limit = min(limit, n)
		}
		return err
	})
	if limit == math.MaxInt64 {
		return defaultLimit
	}
	return limit
}

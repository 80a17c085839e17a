package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"syscall"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/savers/internal/connecting"
)

// tryTLS connects once to a server that the client reaches by TLS. A server without TLS never
// answers, and the client would wait for that many times.
func tryTLS(ctx context.Context, client goredis.UniversalClient) error {
	c, ok := client.(*goredis.Client)
	if !ok || c.Options().TLSConfig == nil {
		return nil
	}
	conn, err := c.Options().Dialer(ctx, c.Options().Network, c.Options().Addr)
	if err == nil {
		return conn.Close()
	}
	if connecting.IsTimeout(err) || errors.As(err, new(tls.RecordHeaderError)) {
		return fmt.Errorf("redis: open: %w: the server may not use TLS on this port: want redis://, or a client without TLSConfig", err)
	}
	return nil // the client tries again
}

// guessTLS adds a guess to the error of a client without TLS whose server ended the connection.
func guessTLS(client goredis.UniversalClient, err error) error {
	plain := false
	switch c := client.(type) {
	case *goredis.Client:
		plain = c.Options().TLSConfig == nil
	case *goredis.ClusterClient:
		plain = c.Options().TLSConfig == nil
	}
	if plain && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return fmt.Errorf("%w: the server may want TLS: use rediss://, or a client with TLSConfig", err)
	}
	return err
}

package connecting_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/graphgen-go/graphgen/savers/internal/connecting"
)

func TestHopeless(t *testing.T) {
	certificate := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":                  {nil, false},
		"certificate":           {fmt.Errorf("connect: %w", certificate), true},
		"no TLS":                {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, true},
		"alert":                 {&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, true},
		"end":                   {io.EOF, false},
		"server down":           {refused, false},
		"both attempts":         {errors.Join(certificate, certificate), true},
		"one of two attempts":   {fmt.Errorf("connect: %w", errors.Join(certificate, refused)), false},
		"refused by PostgreSQL": {errors.Join(errors.New("server refused TLS connection")), true},
	} {
		if got := connecting.Hopeless(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

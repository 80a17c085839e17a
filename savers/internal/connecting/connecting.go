// Package connecting tells connections that may succeed later from those that need another
// configuration.
package connecting

import (
	"crypto/tls"
	"errors"
	"net"
)

// Hopeless reports whether each attempt in err to connect failed in a way that the next one fails
// too. Only one side uses TLS, or one side does not trust the certificate of the other.
func Hopeless(err error) bool {
	for err != nil {
		if refuses(err) {
			return true
		}
		switch e := err.(type) { //nolint:errorlint // the loop unwraps
		case interface{ Unwrap() []error }:
			attempts := e.Unwrap()
			for _, attempt := range attempts {
				if !Hopeless(attempt) {
					return false
				}
			}
			return len(attempts) > 0
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return false
		}
	}
	return false
}

// refuses reports whether err itself is of TLS, and not of the network.
func refuses(err error) bool {
	switch e := err.(type) { //nolint:errorlint // the caller unwraps
	case *tls.CertificateVerificationError, tls.RecordHeaderError, *tls.RecordHeaderError:
		return true
	case *net.OpError:
		return e.Op == "remote error" || e.Op == "local error" // an alert
	}
	return err.Error() == "server refused TLS connection" // of pgx, which has no type for it
}

// IsTimeout reports whether a handshake of TLS did not end in time, although the server had
// accepted the connection.
func IsTimeout(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

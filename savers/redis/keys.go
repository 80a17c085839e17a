package redis

import (
	"crypto/sha256"
	"encoding/base64"
)

// key returns the key of a thread. Its tag, which decides the slot, is a hash, because an id may
// have any length and any bytes. Braces in an id could otherwise choose the slot.
func (s *Saver) key(thread string) string {
	sum := sha256.Sum256([]byte(thread))
	return s.prefix + "{" + base64.RawURLEncoding.EncodeToString(sum[:]) + "}"
}

// indexKeys returns the keys of the index: all threads, those that are not done, and the stamps.
func (s *Saver) indexKeys() []string {
	tag := s.prefix + "{index}:"
	return []string{tag + "all", tag + "live", tag + "stamps"}
}

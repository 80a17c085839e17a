package inspect

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// newKey returns a random key. It seals the places of threads in addresses for a reader who must
// not see these threads. The key belongs to one Inspector.
func newKey() (cipher.AEAD, error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	key, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return key, nil
}

// seal returns the place of a thread as a text that only this Inspector reads.
func (in *Inspector) seal(c cursor) string {
	text := c.Created.UTC().Format(time.RFC3339Nano) + " " + c.ID
	return base64.RawURLEncoding.EncodeToString(in.key.Seal(nil, nil, []byte(text), nil))
}

// unseal returns the place in a text of seal.
func (in *Inspector) unseal(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		b, err = in.key.Open(nil, nil, b, nil)
	}
	created, id, _ := strings.Cut(string(b), " ")
	if err == nil {
		c.ID = id
		c.Created, err = time.Parse(time.RFC3339Nano, created)
	}
	if err != nil {
		return cursor{}, bad("the address of the next page belongs to another process; begin at the first page")
	}
	return c, nil
}

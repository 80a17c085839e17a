package inspect

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// newKey returns a random key. It seals the ids of threads in addresses for a reader who must not
// see these threads. The key belongs to one Inspector.
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

// seal returns the id of a thread as a text that only this Inspector reads.
func (in *Inspector) seal(id string) string {
	return base64.RawURLEncoding.EncodeToString(in.key.Seal(nil, nil, []byte(id), nil))
}

// unseal returns the id in a text of seal.
func (in *Inspector) unseal(text string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		b, err = in.key.Open(nil, nil, b, nil)
	}
	if err != nil {
		return "", bad("the address of the next page belongs to another process; begin at the first page")
	}
	return string(b), nil
}

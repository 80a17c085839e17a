// Package encrypt wraps a saver and encrypts what graphs store: states, updates, questions,
// answers, failures, messages and the payloads of sends.
//
// # What is not encrypted
//
// Savers index and compare some values, so these stay readable:
//
//   - ids of threads, records and requests;
//   - names of graphs, nodes and questions;
//   - titles, labels and metadata;
//   - times, the length of each payload, and the shape of the log;
//   - descriptions of schemas.
//
// Do not put secrets into them.
//
// # How
//
// Each thread has a key of its own. HKDF (RFC 5869) derives it from the secret and the thread id,
// with SHA-256. A payload is encrypted with AES-256-GCM (NIST SP 800-38D) and a random nonce of 96
// bits. So one thread may store up to 2^32 payloads under one secret.
//
// Each payload is bound to its place. The place of a record is its thread, its namespace, its id
// and the record before it. The place of a write is its identity. Bytes that were changed, moved
// to another place, or never encrypted are an error that is checkpoint.ErrDamaged.
//
// An attacker who can write to the storage can still delete data and restore older copies of it.
// The attacker can also change what is not encrypted.
package encrypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/payloads"
)

// SecretSize is the size of a secret in bytes.
const SecretSize = 32

// ErrNoKey is the error of a call that found a payload for whose key there is no Key. Test for it
// with errors.Is.
var ErrNoKey = errors.New("no such key")

// Key is a secret with a name.
type Key struct {
	ID     string // stored with each payload; 1 to 255 bytes
	Secret Secret // SecretSize random bytes; New keeps a copy
}

// Saver is a saver that encrypts. It is safe for concurrent use.
type Saver struct{ *payloads.Saver }

// New returns a saver that keeps its data in inner. It encrypts with key, and reads what key or
// one of older has encrypted. To rotate keys, first deploy the new key as one of older everywhere,
// then as key. Data under an old key stays under it, until a Prune folds it or a Copy writes it
// again.
//
// New returns an error for a secret of another size, and for a key id that is empty, too long or
// used twice. inner must not hold threads that are not encrypted, and must not have ReadableState.
// Close closes inner.
func New(inner checkpoint.Saver, key Key, older ...Key) (Saver, error) {
	c := &codec{current: key.ID, secrets: make(map[string]Secret, 1+len(older))}
	for _, k := range append([]Key{key}, older...) {
		switch {
		case k.ID == "" || len(k.ID) > 255:
			return Saver{}, fmt.Errorf("encrypt: a key id of %d bytes; want 1 to 255", len(k.ID))
		case len(k.Secret) != SecretSize:
			return Saver{}, fmt.Errorf("encrypt: key %q: a secret of %d bytes; want %d", k.ID, len(k.Secret), SecretSize)
		case c.secrets[k.ID] != nil:
			return Saver{}, fmt.Errorf("encrypt: two keys with the id %q; give each its own", k.ID)
		}
		c.secrets[k.ID] = slices.Clone(k.Secret)
	}
	return Saver{payloads.New(inner, c)}, nil
}

// codec encrypts payloads. A stored payload consists of these parts, in this order:
//
//   - the format, one byte;
//   - the id of the key, after its length in one byte;
//   - of a record: its id and the id of the record before it, 16 bytes each;
//   - the nonce, 12 bytes;
//   - one byte and the payload, encrypted, with the tag; the byte is 0 for nil.
//
// The tag also covers the parts before the nonce, and the place.
type codec struct {
	current string
	secrets map[string]Secret
}

const (
	format    = 1
	nonceSize = 12
	tagSize   = 16
	idSize    = len(checkpoint.ID{})
)

// Seal returns a payload in its stored form.
func (c *codec) Seal(p payloads.Place, payload []byte) ([]byte, error) {
	seal, err := c.gcm(c.current, p.Thread)
	if err != nil {
		return nil, err
	}
	size := 2 + len(c.current) + 2*idSize + nonceSize + 1 + len(payload) + seal.Overhead()
	b := append(make([]byte, 0, size), format, byte(len(c.current)))
	b = append(b, c.current...)
	if ofRecord(&p) {
		b = append(append(b, p.ID[:]...), p.Before[:]...)
	}
	bound := appendPlace(slices.Clone(b), &p)
	b = b[:len(b)+nonceSize]
	nonce := b[len(b)-nonceSize:]
	rand.Read(nonce) // never fails, by its documentation
	plain := make([]byte, 1, 1+len(payload))
	if payload != nil {
		plain[0] = 1
	}
	return seal.Seal(b, nonce, append(plain, payload...), bound), nil
}

// Open returns the payload that Seal encrypted for the same place.
func (c *codec) Open(p payloads.Place, stored []byte) ([]byte, error) {
	key, rest, err := header(stored)
	if err != nil {
		return nil, err
	}
	if ofRecord(&p) {
		rest = rest[min(2*idSize, len(rest)):]
	}
	if len(rest) < nonceSize {
		return nil, fmt.Errorf("encrypt: %w: a payload of %d bytes is cut; restore the thread from a backup", checkpoint.ErrDamaged, len(stored))
	}
	if c.secrets[key] == nil {
		return nil, fmt.Errorf("encrypt: %w: the payload is encrypted with key %q; pass that key to encrypt.New", ErrNoKey, key)
	}
	open, err := c.gcm(key, p.Thread)
	if err != nil {
		return nil, err
	}
	bound := appendPlace(slices.Clone(stored[:len(stored)-len(rest)]), &p)
	plain, err := open.Open(nil, rest[:nonceSize], rest[nonceSize:], bound)
	if err != nil || len(plain) == 0 {
		return nil, fmt.Errorf("encrypt: %w: the payload was changed or moved, or key %q has another secret; pass the secret that stored it, or restore the thread from a backup", checkpoint.ErrDamaged, key)
	}
	if plain[0] == 0 {
		return nil, nil
	}
	return plain[1:], nil
}

// Record returns the record that the stored payload of a snapshot or a delta names, and the record
// before it.
func (c *codec) Record(stored []byte) (id, before checkpoint.ID, ok bool) {
	if _, rest, err := header(stored); err == nil && len(rest) >= 2*idSize {
		copy(id[:], rest)
		copy(before[:], rest[idSize:])
	}
	return id, before, true
}

// KeyID returns the id of the key with which a Saver has encrypted a stored payload, as a saver
// without keys returns that payload. ok is false if no Saver has stored the payload. Tools use it
// to name the key that they lack. It checks the form of the payload only, so the answer is no
// proof.
//
// No MessagePack value of more than one byte has the form of an encrypted payload. Text of
// failures can have it only if the text begins with a control character.
func KeyID(stored []byte) (id string, ok bool) {
	id, rest, err := header(stored)
	if err != nil || id == "" || len(rest) < nonceSize+1+tagSize {
		return "", false
	}
	return id, true
}

// header returns the id of the key of a stored payload, and what follows it.
func header(stored []byte) (key string, rest []byte, err error) {
	if len(stored) > 0 && stored[0] != format {
		return "", nil, fmt.Errorf("encrypt: %w: a payload has format %d, and this version reads format %d: it is not encrypted, or a newer version stored it; "+
			"open the saver as the program that stored it does", checkpoint.ErrDamaged, stored[0], format)
	}
	if len(stored) < 2 || len(stored) < 2+int(stored[1]) {
		return "", nil, fmt.Errorf("encrypt: %w: a payload of %d bytes ends within its header; restore the thread from a backup", checkpoint.ErrDamaged, len(stored))
	}
	end := 2 + int(stored[1])
	return string(stored[2:end]), stored[end:], nil
}

// gcm returns the cipher of a thread.
func (c *codec) gcm(key, thread string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, c.secrets[key], nil, "graphgen thread "+thread, SecretSize)
	if err != nil {
		return nil, fmt.Errorf("encrypt: derive the key of a thread: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return cipher.NewGCM(block)
}

// ofRecord reports whether a payload is that of a record.
func ofRecord(p *payloads.Place) bool {
	return p.Kind == payloads.Snapshot || p.Kind == payloads.Delta
}

// appendPlace appends an encoding of p that differs between any two places. The key of the thread
// stands for the thread.
func appendPlace(b []byte, p *payloads.Place) []byte {
	b = append(b, byte(p.Kind))
	b = append(append(b, p.ID[:]...), p.Before[:]...)
	b = binary.BigEndian.AppendUint64(b, p.Number)
	for _, s := range []string{p.Namespace, p.Task, p.Name} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

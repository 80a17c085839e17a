package encrypt_test

import (
	"crypto/rand"
	"fmt"

	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A saver for graph.Saver that compresses, then encrypts. In production the secret comes from a
// secret store.
func ExampleNew() {
	secret := make([]byte, encrypt.SecretSize)
	rand.Read(secret)

	encrypted, err := encrypt.New(memory.New(), encrypt.Key{ID: "2026-11", Secret: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	saver, err := compress.New(encrypted)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer saver.Close()
	fmt.Printf("%T\n", saver)
	// Output: compress.Saver
}

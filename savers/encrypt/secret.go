package encrypt

import (
	"fmt"
	"io"
)

// Secret is the bytes of a key. Logs and JSON show "[secret]" in their place. Convert a Secret to
// []byte to store it.
//
// Package fmt ignores the methods of values in fields that are not exported. So do not print a
// struct that has a Secret in such a field.
type Secret []byte

// hidden is the text of each Secret. It is not base64, so JSON of a Secret cannot be read back as
// another one.
const hidden = "[secret]"

// Format implements fmt.Formatter for all verbs.
func (Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, hidden) // fmt reports errors of its writer
}

// MarshalText implements encoding.TextMarshaler, which packages slog and json call.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

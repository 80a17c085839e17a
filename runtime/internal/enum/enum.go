// Package enum gives the constants of a type their text forms, which encoding/json, log/slog and
// text encoders use. The text of a constant is that of its method String.
package enum

import (
	"fmt"
	"strings"
)

// Constant is a type of constants with texts.
type Constant interface {
	~int | ~uint8
	String() string
}

// Marshal returns the text of v, one of the constants from first to last. A zero value that is no
// constant has the empty text. name is that of the package and the type.
func Marshal[T Constant](name string, v, first, last T) ([]byte, error) {
	switch {
	case v >= first && v <= last:
		return []byte(v.String()), nil
	case v == 0:
		return []byte{}, nil
	}
	return nil, fmt.Errorf("%s %d has no text; use the constants of its type", name, v)
}

// Unmarshal sets v to the constant whose text is b, and returns an error if there is none.
func Unmarshal[T Constant](name string, v *T, b []byte, first, last T) error {
	if len(b) == 0 {
		*v = 0
		return nil
	}
	texts := make([]string, 0, last+1)
	for c := first; c <= last; c++ {
		text := c.String()
		if text == string(b) {
			*v = c
			return nil
		}
		texts = append(texts, text)
	}
	return fmt.Errorf("%s: there is no %.40q; want one of %s", name, b, strings.Join(texts, ", "))
}

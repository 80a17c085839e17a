package checkpoint

import "github.com/graphgen-go/graphgen/runtime/internal/enum"

// The text forms of ids and constants are those of their methods String. The zero value of a type
// whose constants begin at 1 has the empty text. Packages json and slog use them.

// MarshalText implements encoding.TextMarshaler. The text of the zero ID is empty.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It returns the error of ParseID.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id = ID{}
	if len(b) > 0 {
		*id, err = ParseID(string(b))
	}
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: status", s, Running, Cancelled)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: status", s, b, Running, Cancelled)
}

// MarshalText implements encoding.TextMarshaler.
func (s Source) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: source", s, Input, Resume)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Source) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: source", s, b, Input, Resume)
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: kind of write", k, Result, Outcome)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: kind of write", k, b, Result, Outcome)
}

// MarshalText implements encoding.TextMarshaler.
func (k MessageKind) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: kind of message", k, InputMessage, WakeMessage)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *MessageKind) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: kind of message", k, b, InputMessage, WakeMessage)
}

// MarshalText implements encoding.TextMarshaler.
func (p Priority) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: priority", p, Urgent, Low)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Priority) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: priority", p, b, Urgent, Low)
}

// MarshalText implements encoding.TextMarshaler.
func (o ThreadOrder) MarshalText() ([]byte, error) {
	return enum.Marshal("checkpoint: order", o, ByID, NewestFirst)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *ThreadOrder) UnmarshalText(b []byte) error {
	return enum.Unmarshal("checkpoint: order", o, b, ByID, NewestFirst)
}

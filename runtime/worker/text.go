package worker

import "github.com/graphgen-go/graphgen/runtime/internal/enum"

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String, and empty for no kind.
func (k EventKind) MarshalText() ([]byte, error) {
	return enum.Marshal("worker: event kind", k, EventClaimed, EventCleaned)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(b []byte) error {
	return enum.Unmarshal("worker: event kind", k, b, EventClaimed, EventCleaned)
}

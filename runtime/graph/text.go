package graph

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/internal/enum"
)

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String, and empty for no outcome.
func (o Outcome) MarshalText() ([]byte, error) {
	return enum.Marshal("graph: outcome", o, OutcomeDone, OutcomeRetrying)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Outcome) UnmarshalText(b []byte) error {
	return enum.Unmarshal("graph: outcome", o, b, OutcomeDone, OutcomeRetrying)
}

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String, and empty for no kind.
func (k EventKind) MarshalText() ([]byte, error) {
	switch {
	case k == 0:
		return []byte{}, nil
	case k&^EventAll != 0:
		return nil, fmt.Errorf("graph: event kind %d has no text; use the constants of its type", k)
	}
	return []byte(k.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(b []byte) error {
	*k = 0
	if len(b) == 0 {
		return nil
	}
next:
	for name := range strings.SplitSeq(string(b), "|") {
		for i, known := range eventNames {
			if name == known {
				*k |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("graph: event kind: there is no %.40q; want one of %s", name, strings.Join(eventNames[:], ", "))
	}
	return nil
}

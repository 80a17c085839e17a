package main

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape/value"
)

// stateOf returns the state at the last record of a chain.
func stateOf(c *checkpoint.Chain, d operate.Schemas) (value.Value, error) {
	if err := sealed(c.Snapshot); err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w", err)
	}
	b, err := checkpoint.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w", err)
	}
	v, err := value.State(d.State(c.Last.Fingerprint), b)
	if err != nil {
		return value.Value{}, fmt.Errorf("the state cannot be read: %w: %w", checkpoint.ErrDamaged, err)
	}
	return v, nil
}

// inline returns a value as JSON for one cell. It shortens the JSON to at most width characters; 0
// is no limit.
func inline(v *value.Value, width int) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	text := string(safeJSON(b))
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-3]) + "..."
}

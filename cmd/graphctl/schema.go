package main

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/shape/value"
)

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

// Package vendored has types as other modules have them: their fields are out of reach.
package vendored

import (
	"encoding/json"
	"errors"
)

// Page has methods for JSON only.
type Page struct {
	title string
	tags  []string
}

type page struct {
	Title string
	Tags  []string
}

// NewPage returns a page.
func NewPage(title string, tags ...string) Page { return Page{title, tags} }

// MarshalJSON implements json.Marshaler.
func (p Page) MarshalJSON() ([]byte, error) { return json.Marshal(page{p.title, p.tags}) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Page) UnmarshalJSON(b []byte) error {
	var v page
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	p.title, p.tags = v.Title, v.Tags
	return nil
}

// Broken writes what is not JSON.
type Broken struct{ text string }

// NewBroken returns what is stored as text.
func NewBroken(text string) Broken { return Broken{text} }

// MarshalJSON returns the text as it is.
func (b Broken) MarshalJSON() ([]byte, error) {
	if b.text == "" {
		return []byte("null"), nil
	}
	return []byte(b.text), nil
}

// UnmarshalJSON refuses everything but null.
func (b *Broken) UnmarshalJSON(v []byte) error {
	if string(v) != "null" {
		return errors.New("not broken")
	}
	return nil
}

// Level can be stored field by field, as text and as JSON.
type Level struct{ N int }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte{byte('a' + l.N&7)}, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(b []byte) error {
	if len(b) != 1 || b[0] < 'a' || b[0] > 'h' {
		return errors.New("want a letter from a to h")
	}
	l.N = int(b[0] - 'a')
	return nil
}

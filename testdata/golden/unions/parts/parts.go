// Package parts has members of a union of another package.
package parts

// Text is a part by value.
type Text struct{ Text string }

// Image is a part by pointer.
type Image struct {
	URL  string
	Data []byte
}

// Part marks Text as a part.
func (Text) Part() {}

// Part marks Image as a part.
func (*Image) Part() {}

package graph

import (
	"fmt"
	"unicode/utf8"
)

// maxFailure is how many bytes of an error's text are stored. An error that quotes all that its node worked on could be more
// than a server takes, and then the run could not say that it is over.
const maxFailure = 8 << 10

// failureText returns what is stored of the text of a task's error: all of it, or its beginning, cut between two characters,
// and a mark.
func failureText(text string) []byte {
	if len(text) <= maxFailure {
		return []byte(text)
	}
	end := maxFailure
	for end > maxFailure-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Appendf([]byte(text[:end]), "... (%d of %d bytes cut)", len(text)-end, len(text))
}

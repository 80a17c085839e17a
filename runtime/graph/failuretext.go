package graph

import (
	"fmt"
	"unicode/utf8"
)

// maxFailure bounds the stored text of an error, in bytes. An error that quotes all the data of
// its node may be larger than a server accepts. Then the end of the run could not be stored.
const maxFailure = 8 << 10

// failureText returns the text of an error in its stored form: the whole text, or its beginning up
// to a character boundary, and a mark.
func failureText(text string) []byte {
	if len(text) <= maxFailure {
		return []byte(text)
	}
	end := len(cut(text, maxFailure))
	return fmt.Appendf([]byte(text[:end]), "... (%d of %d bytes cut)", len(text)-end, len(text))
}

// cut returns the beginning of text that has at most so many bytes, cut between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

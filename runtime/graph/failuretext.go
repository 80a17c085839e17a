package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
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
	end := len(journal.Cut(text, maxFailure))
	return fmt.Appendf([]byte(text[:end]), "... (%d of %d bytes cut)", len(text)-end, len(text))
}

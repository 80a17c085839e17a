package cell

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// Live is the state of one run, which generated code implements.
type Live[S, U any] = live.Live[S, U]

// Options configures a Live.
type Options = live.Options

// Follow copies the data that Load cannot restore from the Core of another Live of the same state.
// A fork calls it after Load.
func (c *Core) Follow(from *Core) {
	c.unknown = slices.Clone(from.unknown)
	for i, h := range c.cells {
		switch was := from.cells[i]; {
		case was.written && !h.written:
			h.do.mark()
		case !was.written:
			h.written = false
		}
		h.aged = false
	}
}

// Inner implements [Live].
func (c *Core) Inner(inner bool) { c.inner = inner }

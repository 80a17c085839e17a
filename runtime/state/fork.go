package state

import "slices"

// Fork returns a Live that goes on from what from has come to, apart from it: a subgraph works on one. What both have is
// shared until either writes it, so forking costs nothing for what is not written; while recording it is measured once.
// from must not be written while the fork is in use; several forks of it may be used at the same time. Ephemeral fields
// count as set in the superstep before: the fork's next one sees them.
func Fork[S, U any](schema *Schema[S, U], from Live[S, U], opts Options) Live[S, U] {
	live := schema.New(opts)
	live.Load(from.View())
	live.core().follow(from.core())
	return live
}

// core is how Fork gets at what is behind a Live, whatever its state.
func (c *Core) core() *Core { return c }

var _ interface{ core() *Core } = (*Core)(nil)

// follow takes over from the Core of another Live of the same state what Load cannot know.
func (c *Core) follow(from *Core) {
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

package pack

// Policy says when a saver packs the records of a log.
type Policy struct {
	// Every is how many records are packed at a time: a run that ends packs a log if the number of
	// one of its records is a multiple of Every.
	Every int
	// Keep is how many of the newest records of a log are never packed.
	Keep int
	// AtOnce packs the log of each Append before that Append returns. It is for tests.
	AtOnce bool
}

// Default is the policy of all savers.
var Default = Policy{Every: 128, Keep: 32}

// Window is how many records a packer reads with one call.
const Window = 512

// Fewest returns the smallest number of records that make a pack.
func (p *Policy) Fewest() int { return min(p.Every, 16) }

// Due reports whether a run packs a log whose head was number opened at its beginning and is
// number head at its end.
func (p *Policy) Due(opened, head int64) bool { return head/int64(p.Every) != opened/int64(p.Every) }

package flow

// MostPairs is the limit of the pairs that Meetings examines.
const MostPairs = mostPairs

// Work returns how much was looked at.
func (p *Paths) Work() int { return p.work }

// Work returns how much was looked at.
func (m *Meetings) Work() int { return m.work }

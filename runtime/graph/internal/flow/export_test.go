package flow

// MostLooks is the limit of what Meetings looks at.
const MostLooks = mostLooks

// Work returns how much was looked at.
func (p *Paths) Work() int { return p.work }

// Work returns how much was looked at.
func (m *Meetings) Work() int { return m.work }

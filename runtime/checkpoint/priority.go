package checkpoint

import "strconv"

// Priority is one of four classes of threads. [Saver.Ready] returns all due threads of a higher
// class first. Urgent is the highest class. Zero stands for the present priority of a thread, and
// for Normal if the thread is new.
type Priority uint8

const (
	Urgent Priority = iota + 1
	High
	Normal
	Low
)

// Priorities is the number of priorities.
const Priorities = int(Low)

// String returns "urgent", "high", "normal" or "low".
func (p Priority) String() string {
	names := [...]string{"no priority", "urgent", "high", "normal", "low"}
	if int(p) < len(names) {
		return names[p]
	}
	return "unknown priority"
}

// Or returns p, or other if p is zero.
func (p Priority) Or(other Priority) Priority {
	if p == 0 {
		return other
	}
	return p
}

func checkPriority(field string, p Priority) error {
	if p > Low {
		return &InvalidError{field, strconv.Itoa(int(p)), "Urgent, High, Normal, Low, or zero"}
	}
	return nil
}

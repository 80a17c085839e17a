package schedule

import (
	"strings"
	"time"
)

// maxID is how many bytes the id of a schedule can have. It is the value of a label.
const maxID = 200

// Label is the name of the label that has the id of the schedule, on each thread that it fires.
const Label = "schedule"

// prefix begins the ids of the threads of schedules.
const prefix = "schedule:"

// tickThread returns the thread that a tick fires.
func tickThread(id string, tick time.Time) string {
	return id + "@" + tick.UTC().Format(time.RFC3339Nano)
}

// triggerThread returns the thread that a Trigger fires.
func triggerThread(id, command string) string { return id + "@" + triggered + command }

// triggered begins the part of a thread's id after the schedule, if no tick fired it.
const triggered = "trigger-"

// Tick returns the schedule and the tick of a thread that a schedule has fired. A node uses it
// with the Thread of graph.CurrentTask, for example to know the day of a report. tick is zero for
// a thread of Trigger. ok is false for a thread of another kind.
func Tick(thread string) (id string, tick time.Time, ok bool) {
	at := strings.LastIndexByte(thread, '@')
	if at < 1 || at > maxID {
		return "", time.Time{}, false
	}
	id, text := thread[:at], thread[at+1:]
	if strings.HasPrefix(text, triggered) {
		return id, time.Time{}, true
	}
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "", time.Time{}, false
	}
	return id, parsed, true
}

package schedule

import (
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// maxID is how many bytes the id of a schedule can have. It is the value of a label.
const maxID = 200

// Label is the name of the label that has the id of the schedule, on each thread that it fires.
const Label = "schedule"

// The beginnings of the ids of threads: that of a schedule itself, and those that it fires. A user
// of a program cannot choose such an id.
const (
	prefix = graph.ReservedPrefix + "schedule:"
	fired  = graph.ReservedPrefix + "tick:"
)

// Thread returns the id of the thread that stores a schedule.
func Thread(id string) string { return prefix + id }

// tickThread returns the thread that a tick fires.
func tickThread(id string, tick time.Time) string {
	return fired + id + "@" + tick.UTC().Format(time.RFC3339Nano)
}

// triggerThread returns the thread that a Trigger fires.
func triggerThread(id, command string) string { return fired + id + "@" + triggered + command }

// triggered begins the part of a thread's id after the schedule, if no tick fired it.
const triggered = "trigger-"

// Tick returns the schedule and the tick of a thread that a schedule has fired. A node uses it
// with the Thread of graph.CurrentTask, for example to know the day of a report. tick is zero for
// a thread of Trigger. ok is false for a thread of another kind.
func Tick(thread string) (id string, tick time.Time, ok bool) {
	thread, ok = strings.CutPrefix(thread, fired)
	at := strings.LastIndexByte(thread, '@')
	if !ok || at < 1 || at > maxID {
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

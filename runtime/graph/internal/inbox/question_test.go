package inbox

import (
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

func TestExpires(t *testing.T) {
	for _, row := range []struct {
		rule, open string
		want       bool
	}{
		{"22.8", "k/q?", false},
		{"22.8", "k/q?<5", true},
		{"22.8", "k/q?<6", false},
		{"21.18", "a/q? k/pay<5", true},
		{"22.4", "k/sleep<5", false}, // nobody answers a timer
	} {
		same(t, row.rule+" "+row.open, Expires(open(row.open), at(5)), row.want)
	}
}

// TestNextExpiry asks when an edited thread is due (rule 22.5).
func TestNextExpiry(t *testing.T) {
	writes, next := Expire(open("a/q?<7 b/sleep<6 c/q?"), nil, at(5))
	same(t, "the next", next, at(6))
	same(t, "writes", len(writes), 0)
}

func TestEarlier(t *testing.T) {
	never := time.Time{}
	for _, row := range [][3]time.Time{{never, never, never}, {never, at(1), at(1)}, {at(1), never, at(1)}, {at(1), at(2), at(1)}, {at(2), at(1), at(1)}} {
		same(t, "the earlier time", Earlier(row[0], row[1]), row[2])
	}
}

// questions stores the questions of a text, which open reads. Those whose task begins with "left"
// are of a branch that was left.
func questions(text string) (stored []checkpoint.Write) {
	for _, q := range open(text) {
		w := q.Stored
		w.Payload = journal.SetLeft(journal.AppendQuestion(nil, q.Of), strings.HasPrefix(w.Task, "left"))
		stored = append(stored, w)
	}
	return stored
}

// names returns the tasks of questions, and "-" before those of a branch that was left.
func names(t *testing.T, writes []checkpoint.Write) string {
	t.Helper()
	var all []string
	for i := range writes {
		q, err := journal.ReadQuestion(writes[i].Payload)
		if err != nil {
			t.Fatal(err)
		}
		if q.Left {
			all = append(all, "-"+writes[i].Task)
			continue
		}
		all = append(all, writes[i].Task)
	}
	return strings.Join(all, " ")
}

// TestListed lists the waits of the branch of a thread (rule 21.25).
func TestListed(t *testing.T) {
	stored := []checkpoint.Write{{Task: journal.StopTask, Kind: checkpoint.Question}}
	stored = append(stored, questions("a/q? left1/q? b/q?<3 c/pay<3 d/sleep<3 e/q?<5")...)
	thread := checkpoint.Thread{Questions: stored, Now: at(5)}
	same(t, "listed", names(t, Listed(&thread)), "a d e")
	thread.Status = checkpoint.Cancelled
	same(t, "of a cancelled thread", names(t, Listed(&thread)), "")
	damaged := checkpoint.Thread{Questions: []checkpoint.Write{{Task: "k", Payload: []byte{0xc1}}}}
	same(t, "that cannot be read", len(Listed(&damaged)), 1)
}

// TestRelist lists other waits when a branch is left or continued (rule 21.25).
func TestRelist(t *testing.T) {
	stored := questions("a/q? b/q? left1/q? left2/q?")
	same(t, "the branch is left", names(t, Relist(stored, nil)), "-a -b")
	same(t, "another one is continued", names(t, Relist(stored, questions("left1/q?"))), "-a -b left1")
	same(t, "the branch is continued", names(t, Relist(stored, questions("a/q? b/q?"))), "")
	stored = append([]checkpoint.Write{{Task: journal.StopTask, Kind: checkpoint.Question}}, stored...)
	same(t, "a stop is no wait", names(t, Relist(stored, nil)), "-a -b")
}

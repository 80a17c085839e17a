package inbox

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// none is why a cancel is refused that ends nothing.
const none = "(the thread had no unfinished work before the cancel)"

func TestCancels(t *testing.T) {
	due := Line{Due: true, Mark: 1}
	for _, row := range []struct {
		rule, name, box string
		line            Line
		ends            bool
		act             string
		waits           journal.Inputs
	}{
		{"21.2", "no cancel", "in pay", due, false, "", journal.QueuedInputs},
		{"21.10", "ends the due tasks", "wake cancel:enough", due, true, "take [2]", journal.NoInputs},
		{"21.9", "the newest counts", "wake cancel|cancel", due, true, "take [2 3]", journal.NoInputs},
		{"21.9", "older than the line", "cancel", due, false, "refuse 1 " + none, journal.NoInputs},
		{"21.9", "nothing is due", "wake cancel", Line{}, false, "refuse 2 " + none, journal.NoInputs},
		{"21.9", "ends inputs, but none that was posted later", "in|in cancel:no in:drop", Line{}, false,
			"take [3], refuse 1 (cancelled: no), refuse 2 (cancelled: no)", journal.DiscardingInputs},
		{"21.9", "ends the due tasks and an input", "wake in cancel in", due, true, "take [3], refuse 2 (cancelled)", journal.QueuedInputs},
		{"21.9", "inputs before an older cancel", "in cancel:a in cancel:b", Line{}, false,
			"take [2 4], refuse 1 (cancelled: b), refuse 3 (cancelled: b)", journal.NoInputs},
		{"21.9", "the record that began the line was pruned", "cancel", Line{Due: true, Pruned: true, Mark: 9}, true, "take [1]", journal.NoInputs},
		{"21.9", "posted before the opening", "wake cancel", Line{Due: true, Mark: 1, Least: true, Opened: at(3)}, false, "refuse 2 " + none, journal.NoInputs},
		{"21.9", "posted at the opening", "wake cancel", Line{Due: true, Mark: 1, Least: true, Opened: at(2)}, true, "take [2]", journal.NoInputs},
		{"21.9", "the run has stored more since", "wake cancel", Line{Due: true, Mark: 1, Least: true}, true, "take [2]", journal.NoInputs},
		{"21.9", "a mark that is exact", "wake cancel", Line{Due: true, Mark: 1, Opened: at(3)}, true, "take [2]", journal.NoInputs},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			b := boxOf(row.box)
			same(t, "Ends", b.Ends(&row.line), row.ends)
			same(t, "the inputs before", b.Waits(), row.waits)
			a := b.Obey(row.ends)
			same(t, "Obey", show(&a), row.act)
			same(t, "the inputs after", b.Waits(), row.waits)
			if b.Cancel() != nil {
				t.Error("a cancel is left")
			}
		})
	}
}

// TestAllCancels is about a run in progress, and about an Invoke: the cancels are older than its
// run line, or end it.
func TestAllCancels(t *testing.T) {
	for _, row := range []struct{ rule, name, box, want string }{
		{"21.10", "no cancel", "in pay", " false"},
		{"21.10", "a run in progress ends with the reason", "cancel:a in cancel:b in", `b take [1 3], refuse 2 (cancelled: b) true`},
		{"21.4", "an Invoke takes no input", "in cancel in", ` take [2], refuse 1 (cancelled) true`},
	} {
		b := boxOf(row.box)
		reason, a, ok := b.ObeyAll()
		if row.want == " false" {
			same(t, row.rule+" "+row.name, ok, false)
			continue
		}
		same(t, row.rule+" "+row.name, fmt.Sprint(reason, " ", show(&a), " ", ok), row.want)
	}
}

// TestInputs begins inputs in the order in which they were posted (rule 21.2), and says which ones
// make the thread due (rule 21.7).
func TestInputs(t *testing.T) {
	b := boxOf("pay in in:drop")
	same(t, "the oldest", b.Input().Number, 2)
	same(t, "waits", b.Waits(), journal.QueuedInputs)
	a := b.RefuseInput(`request "m2" has run`)
	same(t, "refused", show(&a), `refuse 2 (request "m2" has run)`)
	same(t, "the next one drops the due tasks", b.Waits(), journal.DiscardingInputs)
	a = b.TakeInput()
	same(t, "taken", show(&a), "take [3]")
	same(t, "begins with", b.Began, 3)
	same(t, "none", b.Waits(), journal.NoInputs)
	if b.Input() != nil {
		t.Error("an input is left")
	}
}

package inbox

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// TestAnswerTo gives an answer after refused ones another id (rule 21.5).
func TestAnswerTo(t *testing.T) {
	refused := messages("answer:k/q answer:k/other k/q answer:k/q")
	for _, row := range []struct {
		name    string
		refused []checkpoint.Message
		want    string
	}{
		{"the first", nil, "k/q"},
		{"after one", refused[:3], "answer 2 to k/q"},
		{"after two", refused, "answer 3 to k/q"},
	} {
		m := AnswerTo("k/q", []byte("yes"), row.refused)
		same(t, row.name, m.ID, row.want)
		same(t, "the question", m.Name, "k/q")
		same(t, "the answer", string(m.Payload), "yes")
	}
	fits := strings.Repeat("k", checkpoint.MaxMessageID-len("answer 2 to "))
	same(t, "an id that fits", AnswerTo(fits, nil, []checkpoint.Message{{Kind: checkpoint.AnswerMessage, Name: fits}}).ID, "answer 2 to "+fits)
	long := AnswerTo(strings.Repeat("k", checkpoint.MaxMessageID), nil, []checkpoint.Message{{Kind: checkpoint.AnswerMessage, Name: strings.Repeat("k", checkpoint.MaxMessageID)}})
	if len(long.ID) > checkpoint.MaxMessageID || !strings.HasPrefix(long.ID, "answer 2 to ") {
		t.Errorf("got the id %q of %d bytes", long.ID, len(long.ID))
	}
}

// TestInput stores all that a submission says (rule 21.3), and the cancel before it (rule 21.22).
func TestInput(t *testing.T) {
	in := journal.Input{Update: []byte("u"), Discard: true, Title: "a title", Labels: map[string]string{"a": "b"}, Metadata: map[string]string{"c": "d"}}
	all := Input("r", &in, nil)
	same(t, "messages", len(all), 1)
	same(t, "request", all[0].ID, "r")
	stored, err := journal.ReadInput(all[0].Payload)
	same(t, "error", err, nil)
	same(t, "input", stored, in)
	why := "enough"
	all = Input("r", &in, &why)
	same(t, "messages", len(all), 2)
	same(t, "the cancel comes first", all[0].Kind, checkpoint.CancelMessage)
	same(t, "its reason", string(all[0].Payload), why)
	same(t, "its id, which a repeated Submit has again", all[0].ID, Input("r", &in, &why)[0].ID)
	same(t, "the input", all[1].ID, "r")
}

// TestSignalsAndInputsHaveOtherIDs lets a signal and an input have the same request id.
func TestSignalsAndInputsHaveOtherIDs(t *testing.T) {
	m := Signal("r", "pay", "7", []byte("x"))
	if m.ID == Input("r", &journal.Input{}, nil)[0].ID {
		t.Errorf("both have the id %q", m.ID)
	}
	same(t, "signal", m.Name+" "+m.Key+" "+string(m.Payload), "pay 7 x")
}

package journal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// TestErrorsOfStoredBytesSayWhatWasFound reads damaged bytes, and bytes of other formats.
func TestErrorsOfStoredBytesSayWhatWasFound(t *testing.T) {
	nils := func(n int) []byte { return bytes.Repeat(wire.AppendNil(nil), n) }
	array := func(n int) []byte { return append(wire.AppendArrayLen(nil, n), nils(n)...) }
	input := func(elements int, format uint64) []byte {
		return append(wire.AppendUint(wire.AppendArrayLen(nil, elements), format), nils(elements-1)...)
	}
	question := journal.AppendQuestion(nil, journal.Question{Node: "n", Summary: "s"})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"an input of another format": {
			second(journal.ReadInput(input(6, 2))),
			"the input is stored in format 2, and this program reads format 1; let workers of the version that submitted it run it",
		},
		"a damaged input": {second(journal.ReadInput(input(5, 1))), "input: got 5 elements; want the 6 of an input"},
		"an outcome of another format": {
			second(journal.ReadExecution(input(10, 99))),
			"the outcome is stored in format 99, and this program reads format 3; " +
				"let workers of the same version of graphgen run the tasks of the queue",
		},
		"a damaged outcome": {second(journal.ReadExecution(input(8, 3))), "outcome: got 8 elements; want the 10 of an outcome"},
		"calls of another format": {
			journal.CheckFormat(map[string]string{"format": "2"}), "the subgraph calls that are due are stored in format 2, and this program reads format 3",
		},
		"a question with too few elements": {
			second(journal.ReadQuestion(array(4))), "question: got 4 elements; want the 5 of a question, 6 with a summary, or 7 with a due time",
		},
		"a question with an empty summary": {
			second(journal.ReadQuestion(append(question[:len(question)-2], 0xa0))), "question: got an empty summary or due time in 6 elements; want it left out",
		},
		"a choice": {errChoice(array(0)), "result: got an empty array; want the update of a choice"},
		"an attempt": {
			second(journal.ReadAttempt(array(3))), "attempt: got 3 elements; want the 6 of an attempt",
		},
		"a signal": {
			second(journal.ReadSignal(journal.AppendSignal(nil, &checkpoint.Message{ID: "e", Posted: time.Unix(1, 0)}))),
			`signal: got the message 0 with id "e"; want a number above 0, and an id`,
		},
		"a durable call": {
			second(journal.ReadCall(journal.AppendCall(nil, journal.DurableCall{Number: -1, Value: []byte{1}}))),
			"call: got the call -1 with a result of 1 bytes; want a number from 0, and a result",
		},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func errChoice(b []byte) error {
	_, err := journal.ReadChoice(b, func(journal.Target) error { return nil })
	return err
}

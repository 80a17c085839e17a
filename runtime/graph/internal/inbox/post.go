package inbox

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// AnswerTo returns the message of an answer to the question id. The first one has the id of the
// question, so that a second one is Known. After refused ones, their number is part of the id.
func AnswerTo(id string, payload []byte, refused []checkpoint.Message) checkpoint.Message {
	m := checkpoint.Message{ID: id, Kind: checkpoint.AnswerMessage, Name: id, Payload: payload}
	n := 0
	for i := range refused {
		if refused[i].Kind == checkpoint.AnswerMessage && refused[i].Name == id {
			n++
		}
	}
	if n > 0 {
		m.ID = derivedID(fmt.Sprintf("answer %d to ", n+1), id)
	}
	return m
}

// signalID begins the id of a message with a signal. So a signal and an input can have the same
// request id.
const signalID = "signal "

// Signal returns the message of a signal. request is its id without a prefix.
func Signal(request, name, key string, payload []byte) checkpoint.Message {
	return checkpoint.Message{ID: signalID + request, Kind: checkpoint.SignalMessage, Name: name, Key: key, Payload: payload}
}

// RequestOf returns the request of a message that Signal has made.
func RequestOf(id string) string { return strings.TrimPrefix(id, signalID) }

// Input returns the messages of an input, and of the cancel before it with the given reason; nil
// for none. The id of the cancel is a function of the request id, so that a Submit that is
// repeated stores one cancel.
func Input(request string, in *journal.Input, cancel *string) []checkpoint.Message {
	m := checkpoint.Message{ID: request, Kind: checkpoint.InputMessage, Payload: journal.AppendInput(nil, in)}
	if cancel == nil {
		return []checkpoint.Message{m}
	}
	return []checkpoint.Message{{ID: derivedID("cancel before ", request), Kind: checkpoint.CancelMessage, Payload: []byte(*cancel)}, m}
}

// derivedID returns prefix and id, or a hash of the id if both are too long for a message.
func derivedID(prefix, id string) string {
	if len(prefix)+len(id) > checkpoint.MaxMessageID {
		return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(id)))
	}
	return prefix + id
}

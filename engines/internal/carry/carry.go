// Package carry makes what engines send to servers of names, which may have any bytes and any
// length, and of tasks of queues.
package carry

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Hash returns 32 hexadecimal digits, for a name on a server. No two lists of names have the same
// ones.
func Hash(names ...string) string {
	h := sha256.New()
	for _, name := range names {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(name)))) // never an error, as hash.Hash says
		_, _ = h.Write([]byte(name))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Key returns a Hash that is the same for all hand-outs of a task. Copies of a thread have the ids
// and keys of the original, so Thread is part of it. Node is part of it because a newer
// version of the graph can have another id for the node. Then other workers run the task.
func Key(t graph.QueuedTask) string {
	return Hash(t.Graph, t.Thread, string(t.Base[:]), string(t.Node), t.Task, t.Execution)
}

// message is a QueuedTask in JSON. Names have any bytes, which strings in JSON cannot hold.
type message struct {
	graph.QueuedTask // its own strings are empty

	QueueName     []byte `json:"queueName"`
	GraphName     []byte `json:"graphName"`
	ThreadID      []byte `json:"threadID"`
	TaskKey       []byte `json:"taskKey"`
	ExecutionName []byte `json:"executionName"`
	NodeID        []byte `json:"nodeID"`
}

// Encode returns t in JSON.
func Encode(t graph.QueuedTask) ([]byte, error) {
	m := message{
		QueuedTask: t, QueueName: []byte(t.Queue), GraphName: []byte(t.Graph), ThreadID: []byte(t.Thread),
		TaskKey: []byte(t.Task), ExecutionName: []byte(t.Execution), NodeID: []byte(t.Node),
	}
	m.Queue, m.Graph, m.Thread, m.Task, m.Execution, m.Node = "", "", "", "", "", ""
	return json.Marshal(m)
}

// Decode returns the task of Encode.
func Decode(b []byte) (graph.QueuedTask, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return graph.QueuedTask{}, err
	}
	t := m.QueuedTask
	t.Queue, t.Graph, t.Thread = string(m.QueueName), string(m.GraphName), string(m.ThreadID)
	t.Task, t.Execution, t.Node = string(m.TaskKey), string(m.ExecutionName), graph.ID(m.NodeID)
	return t, nil
}

package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape/value"
)

// Edit is a change of the state of a checkpoint.
type Edit struct {
	At   checkpoint.ID // the checkpoint whose state was edited
	Fork bool          // begin a new branch at At; else At must still be the head
	Node graph.ID      // the change is the result of this node; empty for none
	// Before is the state of At with the names that the graph has today, and JSON is the edited
	// state. Fields that are equal in both do not change, and a field that JSON lacks is cleared.
	Before value.Value
	JSON   []byte
}

// Edit stores an edit of a thread of one of Graphs, and makes the thread due if its due nodes
// change. It returns a *RequestError if nothing was changed, and a *value.JSONError for values of
// other types. Other errors are those of graph.Thread.UpdateState.
func (o *Operator) Edit(ctx context.Context, t *checkpoint.Thread, e *Edit, opts ...graph.UpdateOption) error {
	g, err := o.graph(t)
	if err != nil {
		return err
	}
	text, err := e.changed()
	if err != nil {
		return err
	}
	update, err := value.EncodeSet(&g.Shape().State, text)
	if err != nil {
		return err
	}
	if e.Node != "" {
		opts = append(opts, graph.AsNode(e.Node))
	}
	at := e.At
	if !e.Fork {
		at = checkpoint.ID{}
		opts = append(opts, graph.IfHead(e.At))
	}
	if _, err = g.Update(ctx, t.ID, at, update, opts...); err != nil {
		return err
	}
	if e.Fork || e.Node != "" {
		return o.Wake(ctx, t)
	}
	return nil
}

// Replay makes the tasks of an older checkpoint of a thread of one of Graphs due again, on a new
// branch. A worker runs them.
func (o *Operator) Replay(ctx context.Context, t *checkpoint.Thread, at checkpoint.ID, opts ...graph.UpdateOption) error {
	g, err := o.graph(t)
	if err != nil {
		return err
	}
	if at.IsZero() {
		return &RequestError{"a replay needs a checkpoint; open one in the history"}
	}
	nothing, err := value.EncodeUpdate(&g.Shape().State, []byte("{}"))
	if err != nil {
		return err
	}
	if _, err := g.Update(ctx, t.ID, at, nothing, opts...); err != nil {
		return err
	}
	return o.Wake(ctx, t)
}

// Resume runs a thread of one of Graphs in this process, and returns its status then. With a node,
// the tasks of the node run again. Errors are those of graph.Thread.Resume.
func (o *Operator) Resume(ctx context.Context, t *checkpoint.Thread, node graph.ID, opts ...graph.ResumeOption) (checkpoint.Status, error) {
	g, err := o.graph(t)
	if err != nil {
		return 0, err
	}
	if node != "" {
		opts = append(opts, graph.Rerun(node))
	}
	return g.Resume(ctx, t.ID, checkpoint.ID{}, opts...)
}

// graph returns the graph of a thread.
func (o *Operator) graph(t *checkpoint.Thread) (graph.Untyped, error) {
	g, ok := o.Graphs[t.Graph]
	if !ok {
		return g, &RequestError{fmt.Sprintf("the graph %q is not one of the graphs of this program; it needs the types of its state", t.Graph)}
	}
	return g, nil
}

// changed returns a JSON object with the fields of JSON that differ from Before. A field that JSON
// lacks is null.
func (e *Edit) changed() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.JSON, &fields); err != nil || fields == nil {
		if err == nil {
			err = fmt.Errorf("found %.20s", e.JSON)
		}
		return nil, &RequestError{fmt.Sprintf("the state must be a JSON object: %v", err)}
	}
	for _, f := range e.Before.Fields {
		text, ok := fields[f.Name]
		if !ok {
			fields[f.Name] = json.RawMessage("null")
			continue
		}
		old, err := f.Value.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if bytes.Equal(compact(old), compact(text)) {
			delete(fields, f.Name)
		}
	}
	if len(fields) == 0 {
		return nil, &RequestError{"nothing was changed"}
	}
	return json.Marshal(fields)
}

// compact returns JSON without spaces.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil { // the text was read before
		return text
	}
	return b.Bytes()
}

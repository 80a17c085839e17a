package inspect

import (
	"net/http"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// drawnSize is the number of checkpoints whose nodes a picture marks as done.
const drawnSize = 200

// picture serves the graph of a place as SVG, with the marks of the checkpoint. It is an image of
// its own, so that its style needs no exception in the policy of the pages.
func (in *Inspector) picture(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	v, err := in.load(r, p, false)
	if err != nil {
		return err
	}
	d := in.describe(&v)
	if d == nil {
		return bad("the graph of thread %q is not part of these pages", p.Thread)
	}
	older, err := in.ran(r, &v)
	if err != nil {
		return err
	}
	opts := []diagram.Option{diagram.At(diagram.PlaceOf(v.snap, older...))}
	if r.URL.Query().Get("expand") != "" {
		opts = append(opts, diagram.Expand(), diagram.Details())
	}
	if r.URL.Query().Get("across") != "" {
		opts = append(opts, diagram.LeftToRight())
	}
	svg := diagram.SVG(d, opts...)
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Content-Length", strconv.Itoa(len(svg)))
	_, _ = w.Write(svg) // the reader is gone if this fails
	return nil
}

// ran returns snapshots of older checkpoints of the same branch, as far as one read has them.
func (in *Inspector) ran(r *http.Request, v *view) ([]graph.Snapshot[[]byte], error) {
	if v.chain.Empty() {
		return nil, nil
	}
	q := checkpoint.Query{Limit: drawnSize, Before: v.snap.Checkpoint, Headers: true, Sources: tree.Sources()}
	ref := v.ref()
	ref.At = checkpoint.ID{}
	var older []graph.Snapshot[[]byte]
	parent := v.snap.Parent
	for rec, err := range in.saver.History(r.Context(), ref, q) {
		if err != nil {
			return nil, err
		}
		if rec.ID != parent {
			continue // of another branch
		}
		parent = rec.Parent
		var s graph.Snapshot[[]byte]
		for _, node := range rec.Ran {
			s.Ran = append(s.Ran, graph.ID(node))
		}
		older = append(older, s)
		if rec.Source == checkpoint.Input {
			break // of this input; earlier ones marked the same nodes
		}
	}
	return older, nil
}

package inspect

import (
	"net/http"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

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
		return bad("the graph of thread %q is not part of these pages; give it to inspect.New", p.Thread)
	}
	marks, err := in.placeIn(r, &v, d)
	if err != nil {
		return err
	}
	opts := []diagram.Option{diagram.At(marks)}
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

// placeIn returns where the thread of a view stands. Of payloads that cannot be read, it has the
// nodes that ran and that are due.
func (in *Inspector) placeIn(r *http.Request, v *view, d *graph.Description) (diagram.Place, error) {
	if readable := v.Locked == nil && !v.Chain.Empty(); !readable {
		return diagram.PlaceOf(v.Snap), nil
	}
	return diagram.ReadPlace(r.Context(), in.saver, d, v.Ref)
}

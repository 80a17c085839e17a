package inspect

import (
	"context"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/tree"
	"github.com/graphgen-go/graphgen/shape"
)

// describedSize is the number of threads of a graph without an App that are searched for a
// description.
const describedSize = 10

// describedGraph returns the description of a graph: that of its App, or one that a thread of the
// graph stores. The threads that ids name are searched first.
func (in *Inspector) describedGraph(r *http.Request, name string, ids ...string) (*shape.Graph, error) {
	if app := in.apps[name]; app != nil {
		return app.Untyped().Shape(), nil
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		t, err := in.find(r, View, id)
		if err == nil && t.Graph == name {
			if d, err := in.stored(r.Context(), &t); d != nil || err != nil {
				return d, err
			}
		}
	}
	for t, err := range in.saver.Threads(r.Context(), checkpoint.ThreadQuery{Graph: name, Limit: describedSize}) {
		if err != nil && !ofOneThread(&t, err) {
			return nil, err
		}
		if err != nil || in.sees(r, View, &t) != nil {
			continue
		}
		if d, err := in.stored(r.Context(), &t); d != nil || err != nil {
			return d, err
		}
	}
	return nil, bad("no thread describes the state of the graph %q; submit from the page of a thread, or give the graph to inspect.New", name)
}

// stored returns the description that the newest checkpoint of a thread refers to, or nil.
func (in *Inspector) stored(ctx context.Context, t *checkpoint.Thread) (*shape.Graph, error) {
	p := place{Thread: t.ID}
	if t.Version == 0 {
		p.Version = t.Versions
	}
	all, err := in.schemas(ctx, p)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for rec, err := range in.saver.History(ctx, p.ref(), checkpoint.Query{Limit: 1, Headers: true, Sources: tree.Sources()}) {
		return all[rec.Fingerprint], err
	}
	return nil, nil //nolint:nilnil // the thread has no checkpoint
}

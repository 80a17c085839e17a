package inspect

import (
	"net/url"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// place names what a page shows: a thread or a subgraph call in it, at its head or at a
// checkpoint. The parameters of all addresses are places.
type place struct {
	Thread    string
	Version   int    // 0 is the open one
	Namespace string // of a subgraph call
	At        checkpoint.ID
}

// placeOf reads the place in the parameters of a request.
func placeOf(q url.Values) (p place, err error) {
	p.Thread, p.Namespace = q.Get("id"), q.Get("ns")
	if v := q.Get("version"); v != "" {
		if p.Version, err = strconv.Atoi(v); err != nil || p.Version < 0 {
			return p, bad("the version %q is no number from 1", v)
		}
	}
	if at := q.Get("at"); at != "" {
		if p.At, err = checkpoint.ParseID(at); err != nil {
			return p, bad("%v", err)
		}
	}
	return p, nil
}

// threadPlaceOf is placeOf for pages that need a thread.
func threadPlaceOf(q url.Values) (place, error) {
	p, err := placeOf(q)
	if err == nil && p.Thread == "" {
		err = bad("the address has no thread; add ?id=")
	}
	return p, err
}

func (p place) ref() checkpoint.Ref {
	return checkpoint.Ref{Thread: p.Thread, Version: p.Version, Namespace: p.Namespace, At: p.At}
}

// link returns the relative address of a page about the place. pairs are further parameters.
func (p place) link(page string, pairs ...string) string {
	q := url.Values{"id": {p.Thread}}
	if p.Version != 0 {
		q.Set("version", strconv.Itoa(p.Version))
	}
	if p.Namespace != "" {
		q.Set("ns", p.Namespace)
	}
	if !p.At.IsZero() {
		q.Set("at", p.At.String())
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return page + "?" + q.Encode()
}

// Link is link for templates.
func (p place) Link(page string) string { return p.link(page) }

// Compare returns the address of the differences between two checkpoints of the place.
func (p place) Compare(a string, b checkpoint.ID) string {
	return p.at(checkpoint.ID{}).link("compare", "a", a, "b", b.String())
}

// Choose returns the address of the history in which a reader chooses what to compare p with.
func (p place) Choose() string { return p.at(checkpoint.ID{}).link("history", "a", p.At.String()) }

// at returns the place at a checkpoint; the zero id is the head.
func (p place) at(id checkpoint.ID) place {
	p.At = id
	return p
}

// in returns the place of a subgraph call, at its head.
func (p place) in(namespace string) place {
	p.Namespace, p.At = namespace, checkpoint.ID{}
	return p
}

// root returns the place of the thread, at its head.
func (p place) root() place { return p.in("") }

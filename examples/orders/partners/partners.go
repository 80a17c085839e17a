// Package partners stands in for the partners of the order service: a warehouse, a bank and a
// carrier. Like real ones, they do a request once for each Idempotency-Key, and each request takes
// a while. They keep everything in memory.
package partners

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Partners is a warehouse (stock), a bank (charges) and a carrier (parcels and their pickups). It
// answers
//
//	POST   /stock/{order}  /charges/{order}  /parcels/{order}  /pickups/{order}
//	DELETE /stock/{order}  /charges/{order}  /parcels/{order}
//
// DELETE takes back what POST did, and makes a later POST be refused. A parcel cannot be taken
// back. A refusal has the status 409. The zero Partners is ready for use. Its methods are safe for
// concurrent use.
type Partners struct {
	Latency time.Duration // of each request, before it is done

	mu      sync.Mutex
	orders  map[string]map[string]Deeds
	answers map[string]answer // by key
	asked   map[string]*Repeat
}

// Deeds counts what was done for an order at one partner.
type Deeds struct {
	Done, Undone int
	barred       bool
}

type answer struct {
	status int
	text   string
}

// refusals are the goods and cards that a partner refuses.
var refusals = map[string]map[string]string{
	"stock":   {"unicorn": "there are no unicorns in stock"},
	"charges": {"stolen": "the bank refuses the card"},
	"parcels": {"anvil": "the carrier takes no anvils"},
	"pickups": {},
}

// ServeHTTP implements http.Handler.
func (p *Partners) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{partner}/{order}", p.serve)
	mux.HandleFunc("DELETE /{partner}/{order}", p.serve)
	mux.ServeHTTP(w, r)
}

func (p *Partners) serve(w http.ResponseWriter, r *http.Request) {
	key, partner := r.Header.Get("Idempotency-Key"), r.PathValue("partner")
	var body struct{ Item, Card string }
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 10_000))
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil || key == "" || refusals[partner] == nil {
		http.Error(w, "want an Idempotency-Key, a JSON body, and one of the paths stock, charges, parcels and pickups", http.StatusBadRequest)
		return
	}
	time.Sleep(p.Latency) //nolint:forbidigo // the partner is slow
	a := p.answer(key, r.Method+" "+r.URL.Path, func() answer {
		return p.act(r.Method, partner, r.PathValue("order"), refusals[partner][body.Item+body.Card])
	})
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.text) // the caller may have died
}

// answer calls act for a new key. A known key gets the answer of the first request.
func (p *Partners) answer(key, request string, act func() answer) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil {
		p.orders, p.answers, p.asked = make(map[string]map[string]Deeds), make(map[string]answer), make(map[string]*Repeat)
	}
	a, known := p.answers[key]
	if !known {
		a = act()
		p.answers[key], p.asked[key] = a, &Repeat{Key: key, Request: request}
	}
	p.asked[key].Times++
	return a
}

// act does a request.
func (p *Partners) act(method, partner, order, refused string) answer {
	if p.orders[order] == nil {
		p.orders[order] = make(map[string]Deeds)
	}
	d := p.orders[order][partner]
	defer func() { p.orders[order][partner] = d }()
	switch {
	case method == http.MethodPost && refused != "":
		return answer{http.StatusConflict, refused}
	case method == http.MethodPost && d.barred:
		return answer{http.StatusConflict, "the order is cancelled"}
	case method == http.MethodPost:
		d.Done++
		return answer{http.StatusCreated, ""}
	case partner == "parcels" && d.Done > 0:
		return answer{http.StatusConflict, "the parcel has left"}
	}
	d.barred, d.Undone = true, d.Done
	return answer{http.StatusOK, ""}
}

// Order returns what was done for an order, by partner.
func (p *Partners) Order(id string) map[string]Deeds {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.orders[id])
}

// Repeat is a request that was sent more than once.
type Repeat struct {
	Key, Request string
	Times        int
}

// Repeated returns the requests that were sent more than once, sorted.
func (p *Partners) Repeated() (all []Repeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.Times > 1 {
			all = append(all, *r)
		}
	}
	slices.SortFunc(all, func(a, b Repeat) int { return cmp.Or(cmp.Compare(a.Request, b.Request), cmp.Compare(a.Key, b.Key)) })
	return all
}

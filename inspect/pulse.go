package inspect

import (
	"fmt"
	"hash/fnv"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// pulseSize is the number of threads that the pulse of a list reads at most.
const pulseSize = 500

// pulse answers with a short text that changes whenever a page does. Without a thread in the
// address the page is the list. Else it is that of the thread or of a subgraph call, or its
// history.
func (in *Inspector) pulse(w http.ResponseWriter, r *http.Request) error {
	beat, err := in.beat(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(beat)) // the reader is gone if this fails
	return nil
}

func (in *Inspector) beat(r *http.Request) (string, error) {
	if !r.URL.Query().Has("id") {
		f, err := in.listFilter(r)
		if err != nil {
			return "", err
		}
		if f.Reads() {
			return "", bad("a list of threads that are stuck, or that wait for a queue, has no pulse")
		}
		now, err := in.now(r.Context())
		if err != nil {
			return "", err
		}
		all, err := in.scan(r.Context(), r, f, View, now, pageSize, pulseSize)
		return all.beat(), err
	}
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return "", err
	}
	t, err := in.find(r, View, p.Thread)
	if err != nil {
		return "", err
	}
	return in.beatOf(r, p, &t)
}

// enliven makes a page live if its place can change: the open version of a thread.
func (in *Inspector) enliven(r *http.Request, v *view, h *head) (err error) {
	if v.Version != 0 {
		return nil
	}
	h.Pulse = v.at(checkpoint.ID{}).link("pulse")
	h.Beat, err = in.beatOf(r, v.place, &v.thread)
	return err
}

// beatOf returns the pulse of a thread, or of a subgraph call in it. The lease of a run that
// continues changes it, because the tasks of a superstep change nothing else. The commits of a
// call change nothing of the thread, so its newest record is read.
func (in *Inspector) beatOf(r *http.Request, p place, t *checkpoint.Thread) (string, error) {
	var newest checkpoint.ID
	if p.Namespace != "" {
		p.At = checkpoint.ID{}
		for rec, err := range in.saver.History(r.Context(), p.ref(), checkpoint.Query{Limit: 1, Headers: true}) {
			if err != nil {
				return "", err
			}
			newest = rec.ID
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, stamp(t), t.Lease.UnixMicro(), newest)
	return fmt.Sprintf("%x", h.Sum64()), nil
}

// beat returns the pulse of a list. Leases are no part of it: those of 100 threads are renewed
// all the time, and the list does not show them.
func (f *found) beat() string {
	h := fnv.New64a()
	rows := f.rows
	if f.read > pulseSize {
		rows = rows[:f.pulsing]
	}
	for i := range rows {
		fmt.Fprint(h, rows[i].ID, stamp(&rows[i].Thread), rows[i].Damaged)
		fmt.Fprint(h, rows[i].Wait.Kind, rows[i].Wait.Stuck)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// stamp returns a text that changes with each commit, run, message and question of a thread.
func stamp(t *checkpoint.Thread) string {
	return fmt.Sprint(t.Head, t.Status, t.Holder, t.Updated.UnixMicro(), t.Wake.UnixMicro(), t.Posted, t.Inputs, t.Others, len(t.Questions))
}

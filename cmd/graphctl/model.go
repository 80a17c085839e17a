package main

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// The types of this file are the JSON output. Names and meanings are stable: fields may be added.

// threadJSON describes the open version of a thread.
type threadJSON struct {
	ID       string            `json:"id"`
	IDBytes  string            `json:"id_base64,omitempty"` // if the id is not UTF-8
	Version  int               `json:"version"`
	Versions int               `json:"versions"`
	Status   string            `json:"status"`
	Graph    string            `json:"graph"`
	Title    string            `json:"title,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Priority string            `json:"priority"`
	Head     string            `json:"head,omitempty"`
	Step     int               `json:"step"`
	Created  *time.Time        `json:"created,omitempty"`
	Updated  *time.Time        `json:"updated,omitempty"`
	Wake     *time.Time        `json:"wake,omitempty"`
	Holder   string            `json:"holder,omitempty"`
	Lease    *time.Time        `json:"lease,omitempty"`
	Failed   int               `json:"failed_runs,omitempty"` // in a row, as the events of workers count them
	Retries  *bool             `json:"retries,omitempty"`     // of a failed thread: a worker runs it again at wake
	Inputs   int               `json:"inputs"`
	Others   int               `json:"others"`
	Cancels  int               `json:"cancels,omitempty"`
	Asks     int               `json:"questions"`
	Wait     *operate.Standing `json:"wait,omitempty"` // what the thread waits for
}

// threadOf returns a thread for JSON, with what it waits for.
func threadOf(t *checkpoint.Thread, w *operate.Standing) threadJSON {
	j := threadJSON{
		ID: t.ID, Version: t.Version, Versions: t.Versions, Status: statusText(t), Graph: t.Graph, Title: t.Title,
		Labels: t.Labels, Priority: t.Priority.Or(checkpoint.Normal).String(), Step: t.Step, Created: utc(t.Created),
		Updated: utc(t.Updated), Wake: utc(t.Wake), Holder: t.Holder, Lease: utc(t.Lease), Failed: t.FailedAttempts(),
		Inputs: t.Inputs, Others: t.Others, Cancels: t.Cancels, Asks: len(questionsOf(t)), IDBytes: idBytes(t.ID),
		Head: idText(t.Head),
	}
	if w.Kind != "" {
		j.Wait = w
	}
	if retries := t.Retries(); t.Status == checkpoint.Failed {
		j.Retries = &retries
	}
	return j
}

// statusText returns the status of a thread, or "released" if all of its versions are released.
func statusText(t *checkpoint.Thread) string {
	if t.Version == 0 && t.Status == 0 {
		return "released"
	}
	return t.Status.String()
}

// idBytes returns an id in base64 if JSON cannot contain it, or "".
func idBytes(id string) string {
	if utf8.ValidString(id) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(id))
}

func idText(id checkpoint.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// recordJSON describes a record without its payload.
type recordJSON struct {
	ID       string            `json:"id"`
	Seq      uint64            `json:"seq"`
	Parent   string            `json:"parent,omitempty"`
	Step     int               `json:"step"`
	Source   string            `json:"source"`
	Ran      []string          `json:"ran,omitempty"`
	Due      []string          `json:"due,omitempty"`
	Routes   []string          `json:"pending_routes,omitempty"`
	Request  string            `json:"request,omitempty"`
	Graph    string            `json:"graph,omitempty"`
	Created  *time.Time        `json:"created,omitempty"`
	Snapshot bool              `json:"snapshot"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Lane     *int              `json:"lane,omitempty"` // of the tree; 0 is the branch of the head
}

func recordOf(r *checkpoint.Record) recordJSON {
	return recordJSON{
		ID: r.ID.String(), Seq: r.Seq, Parent: idText(r.Parent), Step: r.Step, Source: r.Source.String(), Ran: r.Ran,
		Due: dueNames(r.Due), Routes: r.PendingRoutes, Request: r.Request, Graph: r.Graph, Created: utc(r.Created),
		Snapshot: r.Snapshot, Metadata: metadata(r),
	}
}

// metadata returns the metadata that the caller of the run noted in a record.
func metadata(r *checkpoint.Record) map[string]string {
	var all map[string]string
	for name, value := range r.Meta {
		if key, ok := strings.CutPrefix(name, "user:"); ok {
			if all == nil {
				all = make(map[string]string)
			}
			all[key] = value
		}
	}
	return all
}

// dueNames returns the names of due nodes, each once and in order.
func dueNames(due []checkpoint.Task) []string {
	c := checkpoint.Chain{Due: due}
	return c.Next()
}

// messageJSON describes a message of an inbox.
type messageJSON struct {
	Number  uint64     `json:"number"`
	ID      string     `json:"id"`
	Kind    string     `json:"kind"`
	Name    string     `json:"name,omitempty"`
	Key     string     `json:"key,omitempty"`
	Posted  *time.Time `json:"posted,omitempty"`
	Bytes   int        `json:"bytes"`
	Refused string     `json:"refused,omitempty"`
	Replied bool       `json:"replied,omitempty"` // Bytes is the size of the reply
}

func messagesOf(all []checkpoint.Message) (shown []messageJSON) {
	for i := range all {
		m := &all[i]
		shown = append(shown, messageJSON{
			Number: m.Number, ID: m.ID, Kind: m.Kind.String(), Name: m.Name, Key: m.Key, Posted: utc(m.Posted),
			Bytes: len(m.Payload), Refused: m.Refused, Replied: m.Replied(),
		})
	}
	return shown
}

// versionJSON describes a version.
type versionJSON struct {
	Number   int        `json:"number"`
	Status   string     `json:"status"`
	Released *time.Time `json:"released,omitempty"`
	Head     string     `json:"head,omitempty"`
	Records  int        `json:"records"`
}

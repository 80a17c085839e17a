package main

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/examples/internal/site"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:embed web
var web embed.FS

// server shows requests and receives answers.
type server struct {
	app   *flow
	saver checkpoint.Saver
	hub   *graphhttp.Hub[State, StateUpdate]
	pages *template.Template
	all   *inspect.Inspector // the pages of all requests for operators, read-only
	log   *slog.Logger
}

func newServer(app *flow, saver checkpoint.Saver, log *slog.Logger) (*server, error) {
	pages, err := template.New("").Funcs(template.FuncMap{"price": price}).ParseFS(web, "web/*.html")
	if err != nil {
		return nil, err
	}
	all, err := inspect.New(saver, inspect.Options{Title: "approval"}, app)
	if err != nil {
		return nil, err
	}
	s := &server{app: app, saver: saver, pages: pages, all: all, log: log}
	s.hub = graphhttp.New(app, encode,
		graphhttp.Events(graph.EventState|graph.EventCustom|graph.EventQuestion|graph.EventRunEnded),
		graphhttp.OnError(func(thread string, err error) { log.Error("stream", "request", thread, "err", err) }))
	return s, nil
}

// handler serves all pages. It rejects requests from pages of other sites.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("POST /requests", s.submit)
	mux.HandleFunc("GET /requests/{id}", s.show)
	mux.HandleFunc("POST /requests/{id}/answers", s.answer)
	mux.Handle("GET /requests/{id}/events", s.hub.Handler(readCall))
	mux.Handle("GET /web/", http.FileServerFS(web))
	mux.Handle("GET /inspect/", http.StripPrefix("/inspect", s.all))
	return site.Guard(mux)
}

// waiting is a pending request, as the list shows it.
type waiting struct {
	Request  string
	Purchase Purchase
}

// list shows the pending questions. It reads the saver's index of threads and no states.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	page := struct {
		Key     string
		Waiting []waiting
		Damaged []string
	}{Key: strings.ToLower(rand.Text())}
	for t, err := range s.saver.Threads(r.Context(), checkpoint.ThreadQuery{Status: checkpoint.Waiting}) {
		if errors.Is(err, checkpoint.ErrDamaged) {
			s.log.Error("list", "request", t.ID, "err", err)
			page.Damaged = append(page.Damaged, t.ID)
			continue
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		questions, err := graph.OpenQuestions(t)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		for _, q := range questions {
			p, err := approve.Decode(q)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			page.Waiting = append(page.Waiting, waiting{t.ID, p})
		}
	}
	s.render(w, r, http.StatusOK, "list.html", page)
}

// keys matches the keys with which the form names requests. list creates the key, so that a form
// sent twice is one request.
var keys = regexp.MustCompile(`^[a-z2-7]{26}$`)

// submit starts a request.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	p, key, err := readPurchase(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	err = s.hub.Invoke(context.WithoutCancel(r.Context()), key, StateUpdate{Purchase: state.Set(p)}, graph.RequestID(key))
	var busy *checkpoint.BusyError
	if err != nil && !errors.As(err, &busy) { // busy: the same form was sent before and is in progress
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/requests/"+key, http.StatusSeeOther)
}

func readPurchase(r *http.Request) (p Purchase, key string, err error) {
	if key = r.PostFormValue("key"); !keys.MatchString(key) {
		return p, "", errors.New("the form has no key: load the page again")
	}
	p = Purchase{Item: strings.TrimSpace(r.PostFormValue("item")), By: strings.TrimSpace(r.PostFormValue("by"))}
	if p.Item == "" || p.By == "" {
		return p, "", errors.New("a request must name the item and the person who wants it")
	}
	p.Cents, err = readPrice(r.PostFormValue("price"))
	return p, key, err
}

// readPrice parses a price such as 12 or 12.50.
func readPrice(s string) (int64, error) {
	whole, rest, _ := strings.Cut(strings.TrimSpace(s), ".")
	units, err := strconv.ParseUint(whole, 10, 32)
	cents, restErr := strconv.ParseUint((rest + "00")[:2], 10, 8)
	if err != nil || restErr != nil || len(rest) > 2 {
		return 0, fmt.Errorf("the price %q is invalid: write 12 or 12.50", s)
	}
	return int64(units*100 + cents), nil //nolint:gosec // 32 bits times 100 fit
}

// open is a pending question, as the page shows it.
type open struct {
	ID       string
	Purchase Purchase
}

// show shows one request.
func (s *server) show(w http.ResponseWriter, r *http.Request) { s.page(w, r, http.StatusOK, "") }

func (s *server) page(w http.ResponseWriter, r *http.Request, status int, notice string) {
	id := r.PathValue("id")
	snap, err := s.app.Thread(id).State(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := struct {
		ID, Notice string
		State      State
		Checkpoint checkpoint.ID
		Status     string
		Open       []open
	}{ID: id, Notice: notice, State: snap.State, Checkpoint: snap.Checkpoint, Status: snap.Status.String()}
	for _, q := range snap.Questions {
		p, err := approve.Decode(q)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		page.Open = append(page.Open, open{q.ID, p})
	}
	s.render(w, r, status, "request.html", page)
}

// answer stores a vote.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	vote := Vote{By: strings.TrimSpace(r.PostFormValue("by")), Note: strings.TrimSpace(r.PostFormValue("note"))}
	switch r.PostFormValue("vote") {
	case "approve":
		vote.OK = true
	case "deny":
	default:
		http.Error(w, "a vote must approve or deny", http.StatusBadRequest)
		return
	}
	if vote.By == "" {
		http.Error(w, "a vote must have a name", http.StatusBadRequest)
		return
	}
	// Name the question that the page showed. Only the run can check whether it is still pending,
	// because another person may answer at any time.
	asked := graph.OpenQuestion{ID: r.PostFormValue("question"), Question: "approve"}
	err := s.hub.Resume(context.WithoutCancel(r.Context()), r.PathValue("id"), approve.Answer(asked, vote))
	switch {
	case err == nil:
		http.Redirect(w, r, "/requests/"+r.PathValue("id"), http.StatusSeeOther)
	case errors.Is(err, graph.ErrNotAsked), errors.Is(err, checkpoint.ErrConflict):
		s.page(w, r, http.StatusConflict, "This was already decided. Your answer was not counted.")
	default:
		s.fail(w, r, err)
	}
}

// readCall returns the thread of a page's event stream.
func readCall(r *http.Request) (graphhttp.Request[StateUpdate], error) {
	c := graphhttp.Request[StateUpdate]{Thread: r.PathValue("id")}
	if after := r.URL.Query().Get("after"); after != "" {
		id, err := checkpoint.ParseID(after)
		if err != nil {
			return c, errors.New("after is not the id of a checkpoint")
		}
		c.After = id
	}
	return c, nil
}

// encode encodes an event for web/request.js.
func encode(e graph.Event[State, StateUpdate], err error) (graphhttp.Message, error) {
	var name string
	var v any
	switch e.Kind {
	case graph.EventCheckpoint:
		name, v = "checkpoint", struct {
			Log     []string `json:"log"`
			Outcome Outcome  `json:"outcome"`
		}{e.State.Log, e.State.Outcome}
	case graph.EventCustom:
		name, v = "progress", e.Custom
	case graph.EventQuestion:
		name, v = "question", e.Question.ID
	case graph.EventRunEnded:
		status := e.Result.Status.String()
		if err != nil && !errors.Is(err, graph.ErrDraining) {
			status = "failed" // the server logs the cause; it is not public
		}
		name, v = "end", status
	default:
		return graphhttp.Message{}, nil
	}
	data, err := json.Marshal(v)
	return graphhttp.Message{Name: name, Data: data}, err
}

func (s *server) render(w http.ResponseWriter, r *http.Request, status int, name string, page any) {
	site.Render(w, r, status, s.pages, name, page, s.log)
}

func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) { site.Fail(w, r, err, s.log) }

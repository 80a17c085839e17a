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
	"net"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/examples/internal/site"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
)

//go:embed web
var web embed.FS

// server serves the chats as pages.
type server struct {
	app   *app
	saver checkpoint.Saver
	hub   *graphhttp.Hub[agent.Chat, agent.ChatUpdate]
	pages *template.Template
	log   *slog.Logger
}

// app is the agent.
type app = graph.Graph[agent.Chat, agent.ChatUpdate]

// newServer returns the server of the chats of a saver.
func newServer(app *app, saver checkpoint.Saver, log *slog.Logger) (*server, error) {
	pages, err := template.ParseFS(web, "web/*.html")
	if err != nil {
		return nil, err
	}
	s := &server{app: app, saver: saver, pages: pages, log: log}
	s.hub = graphhttp.New(app, encode,
		graphhttp.Events(graph.EventState|graph.EventCustom|graph.EventQuestion|graph.EventRunEnded),
		graphhttp.OnError(func(thread string, err error) { log.Error("stream", "chat", thread, "err", err) }))
	return s, nil
}

// handler serves all pages. It rejects requests from pages of other sites.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /chats/{id}", s.show)
	mux.HandleFunc("POST /chats/{id}/messages", s.say)
	mux.HandleFunc("POST /chats/{id}/answers", s.answer)
	mux.HandleFunc("POST /chats/{id}/stop", s.stop)
	mux.Handle("GET /chats/{id}/events", s.hub.Handler(func(r *http.Request) (graphhttp.Request[agent.ChatUpdate], error) {
		return graphhttp.Request[agent.ChatUpdate]{Thread: r.PathValue("id")}, nil
	}))
	mux.Handle("GET /web/", http.FileServerFS(web))
	return site.Guard(mux)
}

// list shows the chats.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	page := struct {
		New   string
		Chats []checkpoint.Thread
	}{New: strings.ToLower(rand.Text())}
	for t, err := range s.saver.Threads(r.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			s.reply(w, r, err)
			return
		}
		page.Chats = append(page.Chats, t)
	}
	site.Render(w, r, http.StatusOK, s.pages, "list.html", page, s.log)
}

// show shows one chat, whose content comes by events.
func (s *server) show(w http.ResponseWriter, r *http.Request) {
	page := struct {
		ID    string
		Begun bool
	}{ID: r.PathValue("id")}
	_, err := s.app.Thread(page.ID).State(r.Context())
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		s.reply(w, r, err)
		return
	}
	page.Begun = err == nil
	site.Render(w, r, http.StatusOK, s.pages, "chat.html", page, s.log)
}

// say begins a turn. The page makes the id of the message, so a form that is sent twice is one
// message.
func (s *server) say(w http.ResponseWriter, r *http.Request) {
	id, text := r.PostFormValue("id"), strings.TrimSpace(r.PostFormValue("text"))
	if id == "" || text == "" {
		http.Error(w, "a message needs an id and a text", http.StatusBadRequest)
		return
	}
	s.reply(w, r, s.hub.Invoke(context.WithoutCancel(r.Context()), r.PathValue("id"), agent.Say(id, text), graph.RequestID(id)))
}

// answer stores the decision of a person.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	d := agent.Decision{Allow: r.PostFormValue("vote") == "allow", Args: r.PostFormValue("args")}
	asked := graph.OpenQuestion{ID: r.PostFormValue("question"), Question: "agent.approve"}
	s.reply(w, r, s.hub.Resume(context.WithoutCancel(r.Context()), r.PathValue("id"), agent.Approve.Answer(asked, d)))
}

// stop ends the turn in progress.
func (s *server) stop(w http.ResponseWriter, r *http.Request) {
	s.reply(w, r, agent.Stop(r.Context(), s.app.Thread(r.PathValue("id")), "stopped by the user"))
}

// reply answers a form.
func (s *server) reply(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case graphhttp.Status(err) == http.StatusConflict:
		http.Error(w, "The chat has moved on: answer its questions, or stop it first.", http.StatusConflict)
	default:
		site.Fail(w, r, err, s.log)
	}
}

// row is a line of a chat on its page.
type row struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// rows returns the lines of messages.
func rows(messages []agent.Message) []row {
	var all []row
	for _, m := range messages {
		if text := m.Text(); text != "" {
			all = append(all, row{string(m.Role), text})
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *agent.Call:
				all = append(all, row{"call", p.Tool + " " + p.Args})
			case *agent.Result:
				kind := "tool"
				if p.Failed {
					kind = "tool failed"
				}
				all = append(all, row{kind, p.Tool + ": " + agent.TextOf(p.Parts)})
			}
		}
	}
	return all
}

// encode encodes an event for web/chat.js.
func encode(e graph.Event[agent.Chat, agent.ChatUpdate], err error) (graphhttp.Message, error) {
	var name string
	var v any
	switch e.Kind {
	case graph.EventCheckpoint:
		name, v = "checkpoint", struct {
			Lines  []row `json:"lines"`
			Tokens int64 `json:"tokens"`
		}{rows(e.State.Messages), e.State.InputTokens + e.State.OutputTokens}
	case graph.EventCustom:
		d, ok := e.Custom.(agent.Delta)
		if !ok {
			return graphhttp.Message{}, nil
		}
		name, v = "piece", struct {
			agent.Delta
			Attempt string `json:"attempt"`
		}{d, fmt.Sprintf("%d/%d", e.Step, e.Attempt)}
	case graph.EventQuestion:
		a, err := agent.Approve.Decode(e.Question)
		if err != nil {
			return graphhttp.Message{}, err
		}
		name, v = "question", map[string]string{"id": e.Question.ID, "tool": a.Call.Tool, "args": a.Call.Args, "problem": a.Problem}
	case graph.EventRunEnded:
		status := e.Result.Status.String()
		if err != nil && status != graph.Cancelled.String() && !errors.Is(err, graph.ErrDraining) {
			status = "failed" // the server logs the cause; it is not public
		}
		name, v = "end", map[string]string{"status": status}
	default:
		return graphhttp.Message{}, nil
	}
	data, err := json.Marshal(v)
	return graphhttp.Message{Name: name, Data: data}, err
}

// serve serves the chats on l until ctx ends.
func serve(ctx context.Context, l net.Listener, app *app, saver checkpoint.Saver, log *slog.Logger) error {
	s, err := newServer(app, saver, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := site.Resume(ctx, saver, s.hub, log); err != nil {
		return errors.Join(err, l.Close())
	}
	return site.Serve(ctx, l, s.handler(), app, s.hub)
}

// Graphgen is the chat of the comparison on the agent kit.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/graphgen-go/graphgen/agent"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/sqlite"
	"github.com/openai/openai-go/v3"
)

type order struct {
	Order string `json:"order" jsonschema:"the number of the order"`
}

type payment struct {
	Order string `json:"order" jsonschema:"the number of the order"`
	Cents int64  `json:"cents"`
}

func find(_ context.Context, in order) (string, error) {
	fmt.Println("found", in.Order)
	return "order " + in.Order + ": a lamp for 4000 cents", nil
}

func refund(_ context.Context, in payment) (string, error) {
	time.Sleep(time.Second) // a payment takes a while
	fmt.Println("paid", in.Cents, "for", in.Order)
	return fmt.Sprintf("paid %d cents", in.Cents), nil
}

func mine(ctx context.Context) (store.Namespace, error) {
	user, err := graph.ThreadLabel(ctx, "user")
	return store.Namespace{"users", user}, err
}

type (
	thread = graph.Thread[agent.Chat, agent.ChatUpdate]
	events = iter.Seq2[graph.Event[agent.Chat, agent.ChatUpdate], error]
)

func stream(w http.ResponseWriter, all events) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name string, v any) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		w.(http.Flusher).Flush()
	}
	for e, err := range all {
		if err != nil {
			send("error", err.Error())
		} else if d, ok := e.Custom.(agent.Delta); ok && d.Text != "" {
			send("text", d.Text)
		} else if a, err := agent.Approve.Decode(e.Question); e.Kind == graph.EventQuestion && err == nil {
			send("question", map[string]string{"id": e.Question.ID, "tool": a.Call.Tool, "args": a.Call.Args})
		} else if e.Result != nil && e.Result.Status == graph.Done {
			send("answer", e.Result.State.Output)
		}
	}
}

func main() {
	saver, err := sqlite.Open("chats.db")
	if err != nil {
		log.Fatal(err)
	}
	memories, err := agent.Memories(store.Scoped(saver.Store(), mine))
	if err != nil {
		log.Fatal(err)
	}
	app, err := agent.New(agent.Config{
		Name:   "desk",
		Model:  agentopenai.New(openai.NewClient(), "gpt-5"),
		System: agent.System("You help the customers of a shop."),
		Tools: append(agent.MemoryTools(memories),
			agent.NewTool("find_order", "finds an order", find),
			agent.NewTool("refund", "pays money back", refund, agent.NeedsApproval())),
	}, graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	shown := graph.Events(graph.EventCustom | graph.EventQuestion)
	handle := func(pattern string, events func(r *http.Request, t thread) events) {
		http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { stream(w, events(r, app.Thread(r.PathValue("id")))) })
	}
	handle("POST /chats/{id}", func(r *http.Request, t thread) events {
		return t.Stream(r.Context(), agent.Say(r.FormValue("message"), r.FormValue("text")), shown, graph.Label("user", r.FormValue("user")))
	})
	handle("POST /chats/{id}/answer", func(r *http.Request, t thread) events {
		q := graph.OpenQuestion{ID: r.FormValue("question"), Question: "agent.approve"}
		return t.ResumeStream(r.Context(), shown, agent.Approve.Answer(q, agent.Decision{Allow: true, Args: r.FormValue("args")}))
	})
	handle("POST /chats/{id}/resume", func(r *http.Request, t thread) events {
		return t.ResumeStream(r.Context(), shown, graph.Wait()) // until the killed process has lost the chat
	})
	http.HandleFunc("POST /chats/{id}/stop", func(w http.ResponseWriter, r *http.Request) {
		if err := agent.Stop(r.Context(), app.Thread(r.PathValue("id")), "never mind"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

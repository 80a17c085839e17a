// Eino is the chat of the comparison on github.com/cloudwego/eino/adk. It has no saver: the
// program keeps messages, checkpoints and decisions in tables of its own.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	_ "modernc.org/sqlite"
)

const tables = `
CREATE TABLE IF NOT EXISTS messages (n INTEGER PRIMARY KEY, chat TEXT, id TEXT UNIQUE, message TEXT);
CREATE TABLE IF NOT EXISTS checkpoints (chat TEXT PRIMARY KEY, checkpoint BLOB, question TEXT, args TEXT);
CREATE TABLE IF NOT EXISTS memories (user TEXT, text TEXT, PRIMARY KEY (user, text));`

type order struct {
	Order string `json:"order" jsonschema:"description=the number of the order"`
}

type payment struct {
	Order string `json:"order" jsonschema:"description=the number of the order"`
	Cents int64  `json:"cents"`
}

type fact struct {
	Text string `json:"text" jsonschema:"description=the fact"`
}

type words struct {
	Words string `json:"words" jsonschema:"description=words of the facts; empty for all facts"`
}

func find(_ context.Context, in order) (string, error) {
	fmt.Println("found", in.Order)
	return "order " + in.Order + ": a lamp for 4000 cents", nil
}

func refund(ctx context.Context, in payment) (string, error) {
	target, _, args := tool.GetResumeContext[string](ctx)
	if !target {
		asked, err := json.Marshal(in)
		if err != nil {
			return "", err
		}
		return "", tool.Interrupt(ctx, string(asked))
	}
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	time.Sleep(time.Second) // a payment takes a while
	fmt.Println("paid", in.Cents, "for", in.Order)
	return fmt.Sprintf("paid %d cents", in.Cents), nil
}

type userKey struct{}

type server struct {
	db     *sql.DB
	runner *adk.Runner
}

// Get implements adk.CheckPointStore.
func (s *server) Get(ctx context.Context, chat string) (checkpoint []byte, ok bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT checkpoint FROM checkpoints WHERE chat = ?", chat).Scan(&checkpoint)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return checkpoint, err == nil, err
}

// Set implements adk.CheckPointStore.
func (s *server) Set(ctx context.Context, chat string, checkpoint []byte) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR REPLACE INTO checkpoints (chat, checkpoint) VALUES (?, ?)", chat, checkpoint)
	return err
}

func (s *server) remember(ctx context.Context, in fact) (string, error) {
	_, err := s.db.ExecContext(ctx, "INSERT OR IGNORE INTO memories VALUES (?, ?)", ctx.Value(userKey{}), in.Text)
	return "Remembered.", err
}

func (s *server) recall(ctx context.Context, in words) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT text FROM memories WHERE user = ? AND text LIKE ? LIMIT 20", ctx.Value(userKey{}), "%"+in.Words+"%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

func (s *server) messages(ctx context.Context, chat string) ([]*schema.Message, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT message FROM messages WHERE chat = ? ORDER BY n", chat)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*schema.Message
	for rows.Next() {
		var text []byte
		var m schema.Message
		if err := errors.Join(rows.Scan(&text), json.Unmarshal(text, &m)); err != nil {
			return nil, err
		}
		all = append(all, &m)
	}
	return all, rows.Err()
}

func (s *server) add(ctx context.Context, chat string, id any, m *schema.Message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, "INSERT OR IGNORE INTO messages (chat, id, message) VALUES (?, ?, ?)", chat, id, text)
	return err
}

type sender func(name string, v any)

// show sends the events of a turn, and stores its messages.
func (s *server) show(ctx context.Context, chat string, send sender, all *adk.AsyncIterator[*adk.AgentEvent]) error {
	answer, asked := "", false
	for e, ok := all.Next(); ok; e, ok = all.Next() {
		if e.Err != nil {
			return e.Err
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			for _, c := range e.Action.Interrupted.InterruptContexts {
				if c.IsRootCause {
					asked = true
					send("question", map[string]any{"id": c.ID, "tool": "refund", "args": c.Info})
				}
			}
		}
		if e.Output == nil || e.Output.MessageOutput == nil {
			continue
		}
		m := e.Output.MessageOutput.Message
		if e.Output.MessageOutput.IsStreaming {
			var chunks []*schema.Message
			for {
				chunk, err := e.Output.MessageOutput.MessageStream.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return err
				}
				if chunk.Content != "" && chunk.Role != schema.Tool {
					send("text", chunk.Content)
				}
				chunks = append(chunks, chunk)
			}
			var err error
			if m, err = schema.ConcatMessages(chunks); err != nil {
				return err
			}
		}
		if err := s.add(ctx, chat, nil, m); err != nil {
			return err
		}
		answer = m.Content
	}
	if asked {
		return nil
	}
	send("answer", answer)
	_, err := s.db.ExecContext(ctx, "DELETE FROM checkpoints WHERE chat = ?", chat)
	return err
}

func (s *server) say(ctx context.Context, chat string, r *http.Request, send sender) error {
	if err := s.add(ctx, chat, r.FormValue("message"), schema.UserMessage(r.FormValue("text"))); err != nil {
		return err
	}
	return s.run(ctx, chat, send)
}

func (s *server) run(ctx context.Context, chat string, send sender) error {
	messages, err := s.messages(ctx, chat)
	if err != nil {
		return err
	}
	return s.show(ctx, chat, send, s.runner.Run(ctx, messages, adk.WithCheckPointID(chat)))
}

func (s *server) answer(ctx context.Context, chat string, r *http.Request, send sender) error {
	_, err := s.db.ExecContext(ctx, "UPDATE checkpoints SET question = ?, args = ? WHERE chat = ?", r.FormValue("question"), r.FormValue("args"), chat)
	if err != nil {
		return err
	}
	return s.resume(ctx, chat, r, send)
}

func (s *server) resume(ctx context.Context, chat string, _ *http.Request, send sender) error {
	var question, args sql.NullString
	err := s.db.QueryRowContext(ctx, "SELECT question, args FROM checkpoints WHERE chat = ?", chat).Scan(&question, &args)
	if errors.Is(err, sql.ErrNoRows) {
		return s.run(ctx, chat, send)
	}
	if err != nil || !question.Valid {
		return err
	}
	all, err := s.runner.ResumeWithParams(ctx, chat, &adk.ResumeParams{Targets: map[string]any{question.String: args.String}})
	if err != nil {
		return err
	}
	return s.show(ctx, chat, send, all)
}

func (s *server) stop(ctx context.Context, chat string, _ *http.Request, _ sender) error {
	messages, err := s.messages(ctx, chat)
	if err != nil || len(messages) == 0 {
		return err
	}
	for _, c := range messages[len(messages)-1].ToolCalls {
		if err := s.add(ctx, chat, nil, schema.ToolMessage("interrupted", c.ID)); err != nil {
			return err
		}
	}
	_, err = s.db.ExecContext(ctx, "DELETE FROM checkpoints WHERE chat = ?", chat)
	return err
}

func (s *server) handle(pattern string, do func(ctx context.Context, chat string, r *http.Request, send sender) error) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(name string, v any) {
			data, _ := json.Marshal(v)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
			w.(http.Flusher).Flush()
		}
		ctx := context.WithValue(r.Context(), userKey{}, r.FormValue("user"))
		if err := do(ctx, r.PathValue("id"), r, send); err != nil {
			send("error", err.Error())
		}
	})
}

func run(ctx context.Context) error {
	db, err := sql.Open("sqlite", "chats.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return err
	}
	s := &server{db: db}
	findTool, err := utils.InferTool("find_order", "finds an order", find)
	refundTool, err2 := utils.InferTool("refund", "pays money back", refund)
	rememberTool, err3 := utils.InferTool("remember", "keeps a fact about the user for later conversations", s.remember)
	recallTool, err4 := utils.InferTool("recall", "finds facts that were remembered, also in earlier conversations", s.recall)
	model, err5 := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		Model: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"),
	})
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "desk",
		Description: "helps the customers of a shop",
		Instruction: "You help the customers of a shop.",
		Model:       model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: []tool.BaseTool{findTool, refundTool, rememberTool, recallTool},
		}},
	})
	if err != nil {
		return err
	}
	s.runner = adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true, CheckPointStore: s})
	s.handle("POST /chats/{id}", s.say)
	s.handle("POST /chats/{id}/answer", s.answer)
	s.handle("POST /chats/{id}/resume", s.resume)
	s.handle("POST /chats/{id}/stop", s.stop)
	return http.ListenAndServe(os.Args[1], nil)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

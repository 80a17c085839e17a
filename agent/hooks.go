package agent

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Summary returns a Before hook that replaces old turns by a summary when the Chat has more than
// limit messages. It keeps the newest turns, about half of limit messages, and at least the last
// turn. m writes the summary, as instructions say. The tokens and the cost of m are added to the
// Chat.
//
// The summary is a message of a user with the ID "summary". The state no longer has the replaced
// messages. They stay in the history of the thread.
func Summary(m Model, limit int, instructions string) Hook {
	return Hook{
		Name:    "summary",
		Options: []graph.NodeOption{graph.Retry(graph.RetryPolicy{If: Temporary, Attempts: 3})},
		Run: func(ctx context.Context, c Chat) (ChatUpdate, Choice, error) {
			var u ChatUpdate
			if len(c.Messages) <= limit {
				return u, Continue, nil
			}
			kept := trimmed(c.Messages, max(limit/2, 2))
			old := c.Messages[:len(c.Messages)-len(kept)]
			if len(old) == 0 {
				return u, Continue, nil
			}
			ask := Message{ID: "instructions", Role: RoleUser, Parts: []Content{&Text{Text: instructions}}}
			reply, err := m.Generate(ctx, Request{Messages: append(viewed(old, ""), ask)}, func(Delta) {})
			u = reply.Usage.update()
			if err != nil {
				return u, Continue, err
			}
			text := TextOf(reply.Parts)
			if text == "" {
				return u, Continue, fmt.Errorf("%w: the summary is empty", ErrInvalidReply)
			}
			summary := Message{ID: "summary", Role: RoleUser, Parts: []Content{&Text{Text: text}}}
			u.Messages.Replace(append([]Message{summary}, kept...)...)
			return u, Continue, nil
		},
	}
}

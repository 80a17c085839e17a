package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
)

var number = regexp.MustCompile(`\d+`)

// rules is a model of a few rules. It finds each order whose number it reads, and refunds them if
// it reads the word refund. It remembers what follows the word remember, and recalls it if it
// reads the word know.
type rules struct {
	pause func(ctx context.Context) // before each word of an answer
}

// Generate replies by the rules.
func (m rules) Generate(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
	var reply agent.Reply
	add := func(tool string, args any) {
		text, err := json.Marshal(args)
		if err != nil {
			return // they are maps of strings and numbers
		}
		emit(agent.Delta{Tool: tool})
		reply.Parts = append(reply.Parts, &agent.Call{Tool: tool, Args: string(text)})
	}
	var said string
	var results []string
	for _, m := range r.Messages {
		switch m.Role {
		case agent.RoleUser:
			said, results = m.Text(), nil
		case agent.RoleTool:
			results = append(results, agent.TextOf(m.Parts[0].(*agent.Result).Parts))
		}
	}
	orders := number.FindAllString(said, -1)
	fact, remember := strings.CutPrefix(said, "remember ")
	switch {
	case len(results) == 0 && remember:
		add("remember", map[string]string{"text": fact})
	case len(results) == 0 && strings.Contains(said, "know"):
		add("recall", map[string]string{"words": ""})
	case len(results) == 0:
		for _, o := range orders {
			add("find_order", map[string]string{"order": o})
		}
	case strings.Contains(said, "refund") && len(results) == len(orders):
		for _, o := range orders {
			add("refund", refundArgs{Order: o, Cents: 4000})
		}
	}
	if len(reply.Parts) == 0 {
		text := "Tell me the number of an order, or say: refund 7."
		if len(results) > 0 {
			text = "I have this: " + strings.TrimSuffix(strings.Join(results, "; "), ".") + "."
		}
		for _, word := range strings.SplitAfter(text, " ") {
			if m.pause(ctx); ctx.Err() != nil {
				return reply, ctx.Err()
			}
			emit(agent.Delta{Text: word})
		}
		reply.Parts = []agent.Content{&agent.Text{Text: text}}
	}
	reply.Usage = agent.Usage{Input: int64(len(said)), Output: 1}
	return reply, nil
}

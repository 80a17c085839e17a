package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/graphgen-go/graphgen/agent"
)

var number = regexp.MustCompile(`\d+`)

// reply is a model of a few rules. It finds each order whose number it reads. If it reads the word
// refund, it refunds them.
func reply(_ context.Context, r agent.Request, emit func(agent.Delta)) (agent.Reply, error) {
	var reply agent.Reply
	add := func(tool, args string, v ...any) {
		emit(agent.Delta{Tool: tool})
		reply.Parts = append(reply.Parts, &agent.Call{Tool: tool, Args: fmt.Sprintf(args, v...)})
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
	if len(results) == 0 {
		for _, o := range orders {
			add("find_order", `{"order":%q}`, o)
		}
	} else if strings.Contains(said, "refund") && len(results) == len(orders) {
		for _, o := range orders {
			add("refund", `{"order":%q,"cents":4000}`, o)
		}
	}
	if len(reply.Parts) == 0 {
		text := "Tell me the number of an order, or say: refund 7."
		if len(results) > 0 {
			text = "I have this: " + strings.Join(results, "; ") + "."
		}
		for _, word := range strings.SplitAfter(text, " ") {
			emit(agent.Delta{Text: word})
		}
		reply.Parts = []agent.Content{&agent.Text{Text: text}}
	}
	reply.Usage = agent.Usage{Input: int64(len(said)), Output: 1}
	return reply, nil
}

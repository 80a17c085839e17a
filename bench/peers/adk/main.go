// Adk runs the graphs of the comparison on google.golang.org/adk/v2/workflow. It always has a
// session, and every node adds an event to the session's log. It has no merged state. So messages
// are events, and nodes hand counts to each other.
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/glebarez/sqlite"
	"github.com/graphgen-go/graphgen/bench/peers/measure"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/adk/v2/workflow"
	"google.golang.org/genai"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

var ctx = context.Background()

// ran counts the nodes that ran.
var ran atomic.Int64

func add(agent.Context, any) (int, error) { return int(ran.Add(1)), nil }

// say emits a message, and whether the loop continues.
func say(c agent.Context, _ any, emit func(*session.Event) error) (any, error) {
	ev := session.NewEvent(c, c.InvocationID())
	ev.Content = genai.NewContentFromText(measure.Text, genai.RoleModel)
	ev.Routes, ev.Output = []string{"end"}, "said"
	if ran.Add(1) < measure.Loop {
		ev.Routes = []string{"again"}
	}
	return nil, emit(ev)
}

func main() {
	none := workflow.NodeConfig{}
	talk := workflow.NewEmittingFunctionNode("say", say, none)
	stop := workflow.NewFunctionNode("stop", func(agent.Context, any) (string, error) { return "stopped", nil }, none)
	row("loop, in memory", measure.Loop, []workflow.Edge{
		{From: workflow.Start, To: talk},
		{From: talk, To: talk, Route: workflow.StringRoute("again")},
		{From: talk, To: stop, Route: workflow.StringRoute("end")},
	})
	chain := []workflow.Node{workflow.Start}
	fan := workflow.NewEdgeBuilder()
	join := workflow.NewJoinNode("join")
	for i := range measure.Chain {
		chain = append(chain, workflow.NewFunctionNode(fmt.Sprint("n", i), add, none))
	}
	for i := range measure.Fan {
		n := workflow.NewFunctionNode(fmt.Sprint("n", i), add, none)
		fan.Add(workflow.Start, n).Add(n, join)
	}
	row("chain", measure.Chain, workflow.Chain(chain...))
	row("fan-out", measure.Fan, fan.Build())
	turns()
}

// graph returns an agent that runs a graph.
func graph(edges []workflow.Edge) (agent.Agent, error) {
	return workflowagent.New(workflowagent.Config{Name: "graph", Edges: edges})
}

// row measures a graph that runs n nodes.
func row(name string, n int, edges []workflow.Edge) {
	var r *runner.Runner
	a, err := graph(edges)
	if err == nil {
		r, err = runner.NewInMemory("peers", a)
	}
	runs := 0
	measure.Row(name, n, func() error {
		if err != nil {
			return err
		}
		runs++
		ran.Store(0)
		if err := turn(r, fmt.Sprint(name, runs)); err != nil {
			return err
		}
		return measure.Want("nodes", int(ran.Load()), n)
	})
}

// turn sends a message to a session.
func turn(r *runner.Runner, id string) error {
	for _, err := range r.Run(ctx, "user", id, genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// turns measures a conversation of one node, whose session is on SQLite.
func turns() {
	dir, remove := measure.Temp()
	defer remove()
	sessions, err := database.NewSessionService(sqlite.Open(filepath.Join(dir, "sessions.db")),
		&gorm.Config{Logger: logger.Discard}) // otherwise it prints each turn that it finds no row
	if err == nil {
		err = database.AutoMigrate(sessions)
	}
	var r *runner.Runner
	var a agent.Agent
	if err == nil {
		reply := workflow.NewFunctionNode("reply", func(agent.Context, any) (string, error) { return measure.Text, nil }, workflow.NodeConfig{})
		a, err = graph(workflow.Chain(workflow.Start, reply))
	}
	if err == nil {
		r, err = runner.New(runner.Config{AppName: "peers", Agent: a, SessionService: sessions, AutoCreateSession: true})
	}
	measure.Turns("SQLite", func() error {
		if err != nil {
			return err
		}
		return turn(r, "t")
	})
}

package mcp

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddGraph adds a tool to s that runs a thread of g for each call. input makes the input of the
// run from the arguments of the call, and output makes the result from the last state. In and Out
// have the schemas that mcp.AddTool gives them. For an agent, input is agent.Say, and output
// returns Chat.Output.
//
// The id of the thread is the name of the tool, a slash and the KeyMeta of the call. A repeated
// call with the same key resumes the thread, or gets the result of the finished one. A call
// without a key has a thread of its own. A client can repeat the call of another client whose key
// it knows. So users who must not see each other's results need servers of their own.
//
// An error of the run is the result of the call. If the run waits, for example for a person, the
// result says so. A repeated call returns the result of the run when there is one. g needs a
// saver.
func AddGraph[In, Out, S, U any](s *mcp.Server, t *mcp.Tool, g *graph.Graph[S, U], input func(In) U, output func(S) Out) {
	mcp.AddTool(s, t, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		key, ok := r.Params.Meta[KeyMeta].(string)
		if !ok || key == "" {
			key = rand.Text()
		}
		res, err := g.Thread(t.Name+"/"+key).Invoke(ctx, input(in), graph.RequestID(key))
		if err != nil {
			return nil, none, err
		}
		if res.Status != graph.Done {
			return nil, none, fmt.Errorf("the call has no result yet: its run is %s; repeat the call with the same %s later", res.Status, KeyMeta)
		}
		return nil, output(res.State), nil
	})
}

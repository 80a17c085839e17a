package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/agent"
	"github.com/graphgen-go/graphgen/agent/agenttest"
	agentopenai "github.com/graphgen-go/graphgen/agent/openai"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)

// newRecorder returns a client that records the exchanges of a test in a file, or replays them.
// The file has no keys.
func newRecorder(t *testing.T, file string) *http.Client {
	t.Helper()
	r, err := recorder.New(file, recorder.WithMode(recorder.ModeRecordOnce),
		recorder.WithHook(func(i *cassette.Interaction) error {
			i.Request.Headers = http.Header{"Content-Type": i.Request.Headers["Content-Type"]}
			return nil
		}, recorder.AfterCaptureHook),
		recorder.WithMatcher(func(r *http.Request, i cassette.Request) bool {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			return err == nil && r.URL.String() == i.URL && string(body) == i.Body
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r.GetDefaultClient()
}

// TestRecording records a conversation, and replays it without the server.
func TestRecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "refund")
	server := agenttest.NewServer(t, agenttest.NewScript(t, agenttest.Call("find_order", `{"order":"7"}`), agenttest.Text("It is a lamp.")))
	talk := func(t *testing.T) {
		t.Helper()
		client := openai.NewClient(option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("secret-key"), option.WithHTTPClient(newRecorder(t, file)))
		memories, err := agent.Memories(memory.NewStore())
		if err != nil {
			t.Fatal(err)
		}
		app, err := desk{}.newAgent(agentopenai.NewResponses(client, "gpt-5"), memories, graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		res, err := app.Thread("t").Invoke(t.Context(), agent.Say("u1", "what is order 7?"))
		if err != nil || res.State.Output != "It is a lamp." {
			t.Errorf("output %q, error %v", res.State.Output, err)
		}
	}
	t.Run("record", talk)
	server.Close()
	t.Run("replay", talk)
	text, err := os.ReadFile(file + ".yaml")
	if err != nil || strings.Contains(string(text), "secret-key") {
		t.Errorf("the recording has the key, or %v", err)
	}
}

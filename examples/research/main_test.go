package main

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestMain makes the test binary act as the command, so that scripts and the kill test can start
// it as a process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"research": main})
}

func TestCommandsAsTyped(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

func TestSearchPutsTheBestDocumentFirst(t *testing.T) {
	c := readCorpus(corpusText)
	if len(c.docs) < 30 {
		t.Fatalf("%d documents, want at least 30", len(c.docs))
	}
	for _, q := range []struct {
		step Step
		want string
	}{
		{Step{Query: "caesium transition", Engine: FullText}, "Atomic clocks"},
		{Step{Query: "who built a pendulum clock", Engine: FullText}, "Pendulum clocks"},
		{Step{Query: "suez", Engine: Titles}, "The Suez Canal"},
	} {
		docs := c.search(q.step, 1)
		if len(docs) != 1 || docs[0].Title != q.want {
			t.Errorf("%+v: got %v, want %s", q.step, docs, q.want)
		}
	}
	if docs := c.search(Step{Query: "caesium", Engine: Titles}, 3); len(docs) != 0 {
		t.Errorf("no title has caesium, got %v", docs)
	}
}

func TestApproveTakesOneMoreQuery(t *testing.T) {
	s := State{Plan: Plan{Title: "t", Steps: []Step{{Query: "a", Engine: FullText}}}}
	d := desk{corpus: readCorpus(corpusText)}
	if _, _, err := graphtest.Run(t, StateSchema, d.approve, s); !errors.Is(err, graph.ErrWaiting) {
		t.Errorf("without an answer: %v, want ErrWaiting", err)
	}
	_, got, err := graphtest.Run(t, StateSchema, d.approve, s, approve.Answer(graph.OpenQuestion{}, Verdict{OK: true, Add: "b"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Plan.Steps) != 2 || got.Plan.Steps[1].Query != "b" {
		t.Errorf("got %+v, want a and b", got.Plan.Steps)
	}
}

func TestAStrictRunSearchesAgainWithinItsBounds(t *testing.T) {
	flow, err := newFlow(desk{corpus: readCorpus(corpusText)}, memory.New(), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	var in StateUpdate
	in.Question.Set("Why do bridges fall in wind?")
	th := flow.Thread("t")
	res, err := th.Invoke(t.Context(), in)
	if err != nil || res.Status != graph.Waiting || res.State.Searches != 0 {
		t.Fatalf("got %v after %d searches, %v; want a question before any", res.Status, res.State.Searches, err)
	}
	res, err = th.Resume(t.Context(), approve.Answer(res.Questions[0], Verdict{OK: true}))
	if err != nil {
		t.Fatal(err)
	}
	s := res.State
	if res.Status != graph.Done || s.Rounds < 2 || s.Rounds > maxRounds || s.Searches > maxSearches || s.Searches != len(s.Asked) {
		t.Errorf("%v after %d rounds and %d searches for %q", res.Status, s.Rounds, s.Searches, s.Asked)
	}
	for _, o := range s.Observations {
		if strings.Count(s.Report, "["+o.Doc+"]") != 1 {
			t.Errorf("the report does not name %s once:\n%s", o.Doc, s.Report)
		}
	}
}

// TestKilledAfterAnyLineTheReportIsTheSame kills the command after n lines, for each n, and
// resumes it.
func TestKilledAfterAnyLineTheReportIsTheSame(t *testing.T) {
	want, lines := report(t, filepath.Join(t.TempDir(), "d"), -1)
	if lines < 5 || !strings.Contains(want, "# Why") {
		t.Fatalf("undisturbed: %d lines, %s", lines, want)
	}
	var cut atomic.Bool
	t.Run("killed", func(t *testing.T) { // each waits for a lease to end, so together
		for n := 1; n <= 8; n++ {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				got, printed := report(t, filepath.Join(t.TempDir(), "d"), n)
				if got != want {
					t.Errorf("killed after %d lines: got\n%s\nwant\n%s", n, got, want)
				}
				if printed < lines {
					cut.Store(true)
				}
			})
		}
	})
	if !cut.Load() {
		t.Error("every answer got through before it was killed: nothing was disturbed")
	}
}

// report answers a question in a folder. It kills the command after kill lines unless kill is
// negative. It returns the output of show, and the number of lines that the command printed.
func report(t *testing.T, dir string, kill int) (shown string, lines int) {
	t.Helper()
	research(t, "run", "-dir", dir, "Why do bridges fall in wind?")
	cmd := exec.Command("research", "answer", "-dir", dir, "-latency", "5ms")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(out); in.Scan(); {
		if lines++; lines == kill {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil && kill < 0 {
		t.Fatal(err)
	}
	if kill >= 0 {
		research(t, "resume", "-dir", dir)
	}
	return research(t, "show", "-dir", dir), lines
}

func research(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("research", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("research %v: %v\n%s", args, err, stderr.Bytes())
	}
	return string(out)
}

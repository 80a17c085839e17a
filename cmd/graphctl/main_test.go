package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/internal/testenv/tmpfs"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/open"
)

func TestMain(m *testing.M) {
	tmpfs.InMemory()
	testscript.Main(m, map[string]func(){"graphctl": steady})
}

// steady is main, but the ages of what a script has just stored are always 0, however slow the
// machine is. With INTERRUPT=output, its first output interrupts the command.
func steady() {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var out io.Writer = os.Stdout
	if os.Getenv("INTERRUPT") == "output" {
		out = &interrupting{out, interrupt}
	}
	since := func(at time.Time) time.Duration {
		if d := time.Since(at); d < 0 || d > 10*time.Minute {
			return d
		}
		return 0
	}
	os.Exit(run(ctx, &app{in: os.Stdin, out: out, err: os.Stderr, env: os.Getenv, now: time.Now, since: since}, os.Args[1:]))
}

// interrupting is a writer that calls a function after each write.
type interrupting struct {
	io.Writer

	interrupt func()
}

func (w *interrupting) Write(b []byte) (int, error) {
	defer w.interrupt()
	return w.Writer.Write(b)
}

// TestScripts runs the command as a user does.
func TestScripts(t *testing.T) {
	testscript.Run(t, params("script"))
}

// params returns the parameters of the scripts in a folder of testdata. env is set for all of
// them.
func params(folder string, env ...string) testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("testdata", folder),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "desk": deskCommand, "shows": shows, "damage": damage,
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "TERM=xterm", "LANG=C.UTF-8", "TOO_LONG="+strings.Repeat("r", checkpoint.MaxReason+1))
			e.Vars = append(e.Vars, env...)
			return nil
		},
	}
}

// status runs a command. It fails unless the exit status is the first argument.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v exits with %d (%v), want %d", args[1:], got, err, want)
	}
}

// damage changes one byte of the first file with a name, at the given offset.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(flip(ts.MkAbs(args[0]), at))
}

// flip changes one byte of the first file with a name or a pattern.
func flip(name string, at int) error {
	if found, err := filepath.Glob(name); err == nil && len(found) > 0 {
		name = found[0]
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if at >= len(b) {
		return fmt.Errorf("%s has %d bytes", name, len(b))
	}
	b[at] ^= 0xff
	return os.WriteFile(name, b, 0o600)
}

// shows compares the output of the last command with a file. Ids, ages and times count as equal.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|\b[0-9a-f]{32}\b|20\d\d-[0-9-]{5}T[0-9:.]+Z|\b\d+s( ago)?\b`)
	got, want := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	got = varying.ReplaceAllStringFunc(got, func(s string) string {
		switch {
		case strings.HasPrefix(s, "20") && strings.HasSuffix(s, "Z"):
			return "TIME"
		case len(s) == 36:
			return "ID"
		case len(s) == 32:
			return "KEY"
		}
		return "0s"
	})
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	if got = strings.Join(lines, ""); (got == want) == neg {
		ts.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// deskCommand runs the graph of package desk on the saver of $GRAPHCTL_SAVER:
//
//	desk start THREAD CENTS [TITLE [NAME=VALUE]]   invokes the graph
//	desk fork THREAD NODE                          forks before the newest checkpoint at which NODE is due, and resumes
//	desk release THREAD                            closes the version
//	desk secret THREAD CENTS                       invokes the graph on the saver, compressed and encrypted
//	desk approve THREAD                            answers the question and resumes
//	desk work                                      runs due threads as a worker does, until none is due
//	desk died                                      registers a worker that dies
//	desk daily SCHEDULE CENTS                      creates a schedule
//
// If $DESK_SECRET is set, all of them compress and encrypt.
func deskCommand(ts *testscript.TestScript, neg bool, args []string) {
	err := onDesk(ts.Getenv("GRAPHCTL_SAVER"), ts.MkAbs("."), func(saver checkpoint.Saver) error {
		if args[0] == "secret" || ts.Getenv("DESK_SECRET") != "" {
			secret, err := wrap(saver, []encrypt.Key{{ID: "k1", Secret: []byte("01234567890123456789012345678901")}}, true)
			if err != nil {
				return err
			}
			saver = secret
			if args[0] == "secret" {
				args = append([]string{"start"}, args[1:]...)
			}
		}
		app, err := desk.New(saver)
		if err != nil {
			return err
		}
		switch args[0] {
		case "work":
			return work(saver, app)
		case "died":
			return died(undying{saver})
		case "daily":
			return daily(saver, app, args[1], args[2])
		}
		return deskStep(context.Background(), app, args)
	})
	if (err != nil) != neg {
		ts.Fatalf("desk %v: %v", args, err)
	}
}

// onDesk opens a saver whose relative path is in a folder.
func onDesk(url, dir string, f func(checkpoint.Saver) error) error {
	for _, scheme := range []string{"file:", "sqlite:"} {
		if path, ok := strings.CutPrefix(url, scheme); ok && !strings.HasPrefix(path, "/") {
			url = scheme + "//" + filepath.ToSlash(filepath.Join(dir, path))
		}
	}
	saver, err := open.Saver(context.Background(), url)
	if err != nil {
		return err
	}
	return errors.Join(f(saver), saver.Close())
}

func deskStep(ctx context.Context, app *desk.Graph, args []string) error {
	id := args[1]
	if unquoted, err := strconv.Unquote(id); err == nil {
		id = unquoted
	}
	t := app.Thread(id)
	switch args[0] {
	case "start":
		return deskStart(ctx, t, id, args[2:])
	case "fork":
		for snap, err := range t.History(ctx, checkpoint.Query{Next: args[2], Limit: 1, Headers: true}) {
			if err == nil {
				_, err = t.At(snap.Checkpoint).Resume(ctx)
			}
			return err
		}
		return checkpoint.ErrNotFound
	case "release":
		_, err := t.Release(ctx)
		return err
	case "approve":
		snap, err := t.State(ctx)
		if err != nil || len(snap.Questions) == 0 {
			return fmt.Errorf("no question: %w", err)
		}
		answer, err := (&desk.Approval{OK: true, By: "ann"}).AppendWire(nil)
		if err != nil {
			return err
		}
		_, err = t.Resume(ctx, graph.AnswerBytes(snap.Questions[0].ID, answer))
		return err
	}
	return fmt.Errorf("desk has no %q", args[0])
}

// work runs due threads until none is due.
func work(saver checkpoint.Saver, app *desk.Graph) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	idle := func(e worker.Event) {
		if e.Kind == worker.EventIdle {
			cancel()
		}
	}
	return worker.New(saver, worker.Options{OnEvent: idle, Retry: graph.RetryPolicy{Attempts: 1}}, app).Run(ctx)
}

// undying keeps the threads of workers, as if they died.
type undying struct{ checkpoint.Saver }

func (u undying) Delete(context.Context, string) error { return errors.New("the worker has died") }

// died runs a worker that registers, and leaves its registration.
func died(saver checkpoint.Saver) error {
	app, err := desk.New(saver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- worker.New(saver, worker.Options{Name: "desk-1", Slots: 4, Register: true}, app).Run(ctx)
	}()
	for {
		all, err := worker.Workers(ctx, saver)
		if err != nil || len(all) > 0 {
			cancel()
			return errors.Join(err, <-ended)
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// daily creates a schedule of an order.
func daily(saver checkpoint.Saver, app *desk.Graph, id, cents string) error {
	amount, err := strconv.ParseInt(cents, 10, 64)
	if err != nil {
		return err
	}
	all, err := schedule.New(saver)
	if err != nil {
		return err
	}
	var in desk.StateUpdate
	in.Order.Set(id)
	in.Cents.Set(amount)
	return all.Create(context.Background(), id, schedule.Spec{Cron: "@daily"}, schedule.Submit(app, in))
}

func deskStart(ctx context.Context, t graph.Thread[desk.State, desk.StateUpdate], id string, args []string) error {
	cents, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	var in desk.StateUpdate
	in.Order.Set(id)
	in.Cents.Set(cents)
	var opts []graph.InvokeOption
	if len(args) > 1 {
		opts = append(opts, graph.Title(args[1]))
	}
	if len(args) > 2 {
		name, value, _ := strings.Cut(args[2], "=")
		opts = append(opts, graph.Label(name, value))
		if name == "long" {
			in.Tags.Put(name, value+strings.Repeat("\u009b", 100))
		}
	}
	_, err = t.Invoke(ctx, in, opts...)
	return err
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/shape"
)

const jsonHelp = `JSON is one JSON value, @FILE for the text of a file, or - for standard input. The command checks it against the
description that the thread stores, and stores nothing if it does not fit.`

const laterHelp = `The command stores a message and returns. A worker runs it when it looks next. Package runtime/worker has workers.`

// maxJSON is the longest JSON that a command reads, in bytes.
const maxJSON = 64 << 20

// postedJSON is the result of a command that posts a message.
type postedJSON struct {
	Thread  string `json:"thread"`
	IDBytes string `json:"thread_base64,omitempty"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Number  uint64 `json:"number"`
	Known   bool   `json:"known,omitempty"` // a message with this id was stored before
}

// jsonArg returns the JSON that an argument of the command line names.
func (a *app) jsonArg(arg string) ([]byte, error) {
	in := a.in
	switch name, isFile := strings.CutPrefix(arg, "@"); {
	case isFile:
		f, err := os.Open(name) // #nosec G304 -- the user names the file
		if err != nil {
			return nil, &usageError{"the JSON cannot be read: " + err.Error()}
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	case arg != "-":
		return []byte(arg), nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	switch {
	case err != nil:
		return nil, &usageError{"the JSON cannot be read: " + err.Error()}
	case len(b) > maxJSON:
		return nil, &usageError{fmt.Sprintf("the JSON has more than %d bytes", maxJSON)}
	}
	return b, nil
}

// newPosted returns what --json prints of a stored message.
func newPosted(thread string, p operate.Posted) postedJSON {
	return postedJSON{thread, idBytes(thread), p.Kind.String(), p.ID, p.Number, p.Known}
}

// posted prints a stored message as the result.
func (a *app) posted(thread string, p operate.Posted) error {
	j := newPosted(thread, p)
	return a.one(j, func() error {
		text := "stored"
		if j.Known {
			text = "known already, not stored again"
		}
		_, err := fmt.Fprintf(a.out, "%s: %s %s %s\n", quoteID(j.Thread), j.Kind, cell(j.ID), text)
		return err
	})
}

// payload returns the JSON of an answer or a signal whose type is described, or of any other if
// unchecked is set.
func (a *app) payload(what, arg string, unchecked bool) operate.Source {
	read := sync.OnceValues(func() ([]byte, error) { return a.jsonArg(arg) }) // of many threads, too
	return func(p *shape.Payload) ([]byte, error) {
		if p == nil && !unchecked {
			return nil, fmt.Errorf("the thread stores no description of %s; pass --unchecked to store the JSON as it is", what)
		}
		return read()
	}
}

func uncheckedFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "unchecked", false, "store the JSON also if its type is not described; a run refuses what it cannot read")
}

func (a *app) answerCommand() *cobra.Command {
	var unchecked bool
	cmd := &cobra.Command{
		Use:   "answer THREAD QUESTION JSON",
		Short: "Answer a question",
		Long: `Answer an open question of a thread. QUESTION is the id that show and waiting print, the beginning of an id, or the
name of the question. It must name exactly one open question.

` + jsonHelp + "\n\n" + laterHelp,
		Example: `  graphctl answer order-7 approve '{"OK": true, "By": "ann"}'`,
		Args:    cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.answer(ctx, s, args, unchecked) })
		},
	}
	uncheckedFlag(cmd, &unchecked)
	return cmd
}

func (a *app) answer(ctx context.Context, s checkpoint.Saver, args []string, unchecked bool) error {
	id, err := parseID(args[0])
	if err != nil {
		return err
	}
	t, err := findThread(ctx, s, id)
	if err != nil {
		return err
	}
	p, err := ops(s).Answer(ctx, &t, args[1], a.payload("question "+cell(args[1]), args[2], unchecked))
	if err != nil {
		return err
	}
	return a.posted(id, p)
}

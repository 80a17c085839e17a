package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
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

// target is the thread that a message is for.
type target struct {
	id          string
	graph       string
	fingerprint uint64
	known       descriptions
	thread      checkpoint.Thread
	exists      bool
}

// targetOf reads the graph and the descriptions of a thread. For a thread without an open version
// they are those of its newest version.
func targetOf(ctx context.Context, s checkpoint.Saver, arg string) (*target, error) {
	id, err := parseID(arg)
	if err != nil {
		return nil, err
	}
	versions, err := s.Versions(ctx, id)
	if err != nil {
		return nil, err
	}
	open, listed, err := rowOf(ctx, s, id)
	if err != nil {
		return nil, err
	}
	t := &target{id: id, graph: open.Graph, thread: open, exists: listed || len(versions) > 0}
	if len(versions) == 0 {
		return t, nil
	}
	newest := versions[len(versions)-1].Number
	for r, err := range s.History(ctx, checkpoint.Ref{Thread: id, Version: newest}, checkpoint.Query{Headers: true, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		t.fingerprint = r.Fingerprint
		if t.graph == "" {
			t.graph = r.Graph
		}
	}
	t.known, err = describe(ctx, s, id, newest)
	return t, err
}

// like takes the graph and the descriptions of another thread.
func (t *target) like(other *target) {
	t.graph, t.fingerprint, t.known = other.graph, other.fingerprint, other.known
}

// stored stores one Post, and returns its last message.
func stored(ctx context.Context, s checkpoint.Saver, p checkpoint.Post) (j postedJSON, err error) {
	posted, err := s.Post(ctx, p)
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return j, fmt.Errorf("thread %s: %w", quoteID(p.Thread), err)
	}
	last := len(p.Messages) - 1
	m, result := p.Messages[last], posted[0].Messages[last]
	if result.Known && m.Kind == checkpoint.AnswerMessage {
		return j, &answeredError{p.Thread, m.ID}
	}
	return postedJSON{p.Thread, idBytes(p.Thread), m.Kind.String(), m.ID, result.Number, result.Known}, nil
}

// post stores one Post, and prints its last message as the result.
func (a *app) post(ctx context.Context, s checkpoint.Saver, p checkpoint.Post) error {
	j, err := stored(ctx, s, p)
	if err != nil {
		return err
	}
	return a.one(j, func() error {
		text := "stored"
		if j.Known {
			text = "known already, not stored again"
		}
		_, err := fmt.Fprintf(a.out, "%s: %s %s %s\n", quoteID(j.Thread), j.Kind, cell(j.ID), text)
		return err
	})
}

// answeredError reports a question that was answered before.
type answeredError struct{ thread, question string }

func (e *answeredError) Error() string {
	return fmt.Sprintf("thread %s: question %s has been answered, and the new answer is not stored", quoteID(e.thread), cell(e.question))
}

// Is reports whether target is ErrConflict.
func (e *answeredError) Is(target error) bool { return target == checkpoint.ErrConflict }

// badJSON makes an error of package value an error of the command line.
func badJSON(err error) error {
	var bad *value.JSONError
	if errors.As(err, &bad) {
		return &usageError{err.Error() + "; nothing was stored"}
	}
	return err
}

// encodePayload encodes the JSON of an answer or a signal. p is nil if no description is stored.
func (a *app) encodePayload(p *shape.Payload, what, arg string, unchecked bool) ([]byte, error) {
	if p == nil && !unchecked {
		return nil, fmt.Errorf("the thread stores no description of %s; pass --unchecked to store the JSON as it is", what)
	}
	text, err := a.jsonArg(arg)
	if err != nil {
		return nil, err
	}
	b, err := value.Encode(p, text)
	return b, badJSON(err)
}

func uncheckedFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "unchecked", false, "store the JSON also if its type is not described; a run refuses what it cannot read")
}

// answerFlags are the flags of answer.
type answerFlags struct{ unchecked bool }

func (a *app) answerCommand() *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use:   "answer THREAD QUESTION JSON",
		Short: "Answer a question",
		Long: `Answer an open question of a thread. QUESTION is the id that show and waiting print, the beginning of an id, or the
name of the question. It must name exactly one open question.

` + jsonHelp + "\n\n" + laterHelp,
		Example: `  graphctl answer order-7 approve '{"OK": true, "By": "ann"}'`,
		Args:    cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.answer(ctx, s, args, &f) })
		},
	}
	uncheckedFlag(cmd, &f.unchecked)
	return cmd
}

func (a *app) answer(ctx context.Context, s checkpoint.Saver, args []string, f *answerFlags) error {
	t, err := targetOf(ctx, s, args[0])
	if err != nil {
		return err
	}
	if !t.exists {
		return noThread(t.id)
	}
	q, err := t.asked(args[1])
	if err != nil {
		return err
	}
	if q.unread != nil {
		return q.unread
	}
	d, err := questionShape(ctx, s, place{t.id, t.thread.Version, q.namespace}, t.known, q.Question)
	if err != nil {
		return err
	}
	var p *shape.Payload
	if d != nil && d.Answer.Type != "" {
		p = &d.Answer
	}
	payload, err := a.encodePayload(p, "question "+cell(q.Question), args[2], f.unchecked)
	if err != nil {
		return err
	}
	refused, err := s.Mail(ctx, checkpoint.MailQuery{Thread: t.id, Refused: true})
	if err != nil {
		return fmt.Errorf("thread %s: %w", quoteID(t.id), err)
	}
	return a.post(ctx, s, graph.EncodedAnswer(t.graph, t.id, q.ID, payload, refused))
}

// asked returns the open question that the user named.
func (t *target) asked(name string) (*question, error) {
	all := questionsOf(&t.thread)
	var found []*question
	for i := range all {
		switch q := &all[i]; {
		case q.ID == name:
			return q, nil
		case q.Question == name, name != "" && strings.HasPrefix(q.ID, name):
			found = append(found, q)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		for i := range all {
			if all[i].unread != nil { // it may be the one
				return nil, all[i].unread
			}
		}
		return nil, fmt.Errorf("%w: thread %s has no open question %s; graphctl waiting lists them", graph.ErrNotAsked, quoteID(t.id), cell(name))
	}
	ids := make([]string, len(found))
	for i, q := range found {
		ids[i] = cell(q.ID)
	}
	return nil, &usageError{fmt.Sprintf("%q names %d open questions; want one of %s", name, len(found), strings.Join(ids, ", "))}
}

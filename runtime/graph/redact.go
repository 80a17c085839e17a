package graph

import (
	"cmp"
	"errors"
)

// RedactErrors changes the texts of errors before they are stored. f gets a whole text and returns
// the one to store, for example without passwords. It must be safe for concurrent use. If f panics
// or returns "", the text is replaced whole. The texts are those of failed attempts, of stacks of
// panics, of the reasons why runs end, and of failed children and tasks of queues. The reasons why
// a run refuses messages are such texts, too.
//
// Errors that calls return, and those that observers and logs get in the process of the run, are
// as they were. For a subgraph, the option of the graph of the thread counts. For a task of a
// queue, each worker applies that of its own graph. RedactErrors does not change the errors of
// submits that package schedule stores. They are those of the saver.
//
// A nil f is a fault of Compile.
func RedactErrors(f func(text string) string) Option {
	return singleOption("RedactErrors", func(o *options) { o.redact = f })
}

// redacted returns the text of an error as the graph stores it.
func (g *core) redacted(text string) (stored string) {
	if g.opt.redact == nil || text == "" {
		return text
	}
	defer func() {
		if recover() != nil {
			stored = "(the text is hidden, because the function of RedactErrors panicked)"
		}
	}()
	return cmp.Or(g.opt.redact(text), "(the text is hidden, because the function of RedactErrors returned none)")
}

// redactedError returns err with the text that the graph stores.
func (g *core) redactedError(err error) error {
	if err == nil || g.opt.redact == nil {
		return err
	}
	return errors.New(g.redacted(err.Error()))
}

// redacted returns the text of an error as the graph of the thread stores it.
func (r *run) redacted(text string) string {
	g := r.g
	if r.opt.box != nil && r.opt.box.root != nil { // else it is that of the thread itself
		g = r.opt.box.root.g
	}
	return g.redacted(text)
}

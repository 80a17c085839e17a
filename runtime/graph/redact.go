package graph

// RedactErrors changes the texts of errors before they are stored. f gets a whole text and returns
// the one to store, for example without passwords. It must be safe for concurrent use. If f
// panics, the text is replaced whole. The texts are those of failed attempts, of stacks of panics,
// of the reasons why runs end, and of failed children and tasks of queues.
//
// Errors that calls return, and those that observers and logs get in the process of the run, are
// as they were. For a subgraph, the option of the graph of the thread counts. For a task of a
// queue, each worker applies that of its own graph.
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
	return g.opt.redact(text)
}

// redacted returns the text of an error as the graph of the thread stores it.
func (r *run) redacted(text string) string {
	g := r.g
	if r.opt.box != nil && r.opt.box.root != nil { // else it is that of the thread itself
		g = r.opt.box.root.g
	}
	return g.redacted(text)
}

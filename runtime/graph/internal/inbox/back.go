package inbox

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Losses are tasks and subgraph calls that do not count any more, so that the signals that they
// have received go back to the inbox.
type Losses struct {
	Namespace string          // of the tasks
	Tasks     map[string]bool // by key
	Calls     map[string]bool // by namespace
}

// Back returns the signals that the losses have received. notes are those of the thread about its
// calls, which belong to base. asked returns the questions of a task of the thread itself, or nil
// for none; a nil func is for losses inside a call.
func (l *Losses) Back(notes []journal.Received, base checkpoint.ID, asked func(key string) *journal.Asked) (a Act, err error) {
	for i := range notes {
		if n := &notes[i]; n.In(l.Calls) || n.Namespace == l.Namespace && l.Tasks[n.Task] {
			a.Messages.Return = append(a.Messages.Return, n.Message)
			a.Writes = append(a.Writes, drop(n.Write(base)))
		}
	}
	for key := range l.Tasks {
		if asked == nil {
			break
		}
		of := asked(key)
		if of == nil {
			continue
		}
		for place, answer := range of.Answers {
			if !task.IsSignal(place) || string(answer) == task.Passed {
				continue
			}
			m, err := journal.ReadSignal(answer)
			if err != nil {
				return Act{}, err
			}
			a.Messages.Return = append(a.Messages.Return, m)
		}
	}
	inOrder(a.Messages.Return)
	return a, nil
}

// Leave returns the signals of the branch that an input leaves. heads has the newest checkpoints
// of the thread and of the calls that are due, by namespace. The signals of their unfinished tasks
// go back. When the branch is continued, these tasks wait for signals again. All signals go back
// that were received in the calls of over, which do not count any more. A finished task keeps its
// signals, and its replies are given. notes are those of the thread, which belong to base. taken
// has the tasks without a stored result that count as finished, because the input keeps their
// outcomes. It has the parts of the results, by the keys of the tasks.
func Leave(
	heads map[string]*checkpoint.Chain, over map[string]bool, taken map[string]map[string]string, notes []journal.Received, base checkpoint.ID,
) (a Act, err error) {
	for _, namespace := range slices.Sorted(maps.Keys(heads)) {
		if err := a.leave(namespace, heads[namespace], taken); err != nil {
			return Act{}, err
		}
	}
	for _, parts := range taken {
		if err := reply(&a, parts); err != nil {
			return Act{}, err
		}
	}
	for i := range notes {
		n := &notes[i]
		back := slices.ContainsFunc(a.Messages.Return, func(m checkpoint.Message) bool { return m.Number == n.Message.Number })
		switch {
		case !back && !n.In(over):
			continue
		case !back:
			a.Messages.Return = append(a.Messages.Return, n.Message)
		}
		a.Writes = append(a.Writes, drop(n.Write(base)))
	}
	inOrder(a.Messages.Return)
	inOrder(a.Messages.Reply)
	return a, nil
}

// leave returns the signals that the unfinished tasks of a namespace have received to the inbox.
// It drops the answers that the signals were, and adds the replies of the finished tasks. c is the
// newest checkpoint there.
func (a *Act) leave(namespace string, c *checkpoint.Chain, taken map[string]map[string]string) error {
	pending := journal.Gather(c.Writes, c.Last.Base, namespace)
	for _, w := range c.Writes {
		if w.Kind == checkpoint.Result && w.Name == "" && w.Base == c.Last.Base && w.Namespace == namespace {
			if err := reply(a, pending.Parts(w.Task)); err != nil {
				return err
			}
		}
		if w.Kind != checkpoint.Answer || w.Base != c.Last.Base || w.Namespace != namespace || !task.IsSignal(w.Name) || string(w.Payload) == task.Passed {
			continue
		}
		_, finished := pending.Result(w.Task)
		if _, counts := taken[w.Task]; finished || counts {
			continue
		}
		m, err := journal.ReadSignal(w.Payload)
		if err != nil {
			return err
		}
		a.Messages.Return = append(a.Messages.Return, m)
		a.Writes = append(a.Writes, drop(w))
	}
	return nil
}

// reply adds the replies among the parts of a result.
func reply[T []byte | string](a *Act, parts map[string]T) error {
	replies, err := journal.Replies(parts)
	a.Messages.Reply = append(a.Messages.Reply, replies...)
	return err
}

// drop returns the write that drops a stored write.
func drop(w checkpoint.Write) checkpoint.Write {
	w.Kind, w.Payload = checkpoint.Discard, nil
	return w
}

// inOrder sorts messages by their numbers.
func inOrder(all []checkpoint.Message) {
	slices.SortFunc(all, func(a, b checkpoint.Message) int { return cmp.Compare(a.Number, b.Number) })
}

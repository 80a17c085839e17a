package checkpoint

import "slices"

// Match reports whether q selects r by its sources, step, nodes and times. Savers apply Limit and
// Before, which depend on the position of the record.
func (q *Query) Match(r *Record) bool {
	if len(q.Sources) == 0 {
		if r.Source == Resume {
			return false
		}
	} else if !slices.Contains(q.Sources, r.Source) {
		return false
	}
	switch {
	case q.HasStep && r.Step != q.Step,
		!q.Since.IsZero() && r.Created.Before(q.Since),
		!q.Until.IsZero() && !r.Created.Before(q.Until):
		return false
	}
	if q.Ran != "" && !slices.Contains(r.Ran, q.Ran) {
		return false
	}
	for key, want := range q.Meta {
		if got, ok := r.Meta[key]; !ok || got != want {
			return false
		}
	}
	return q.Next == "" || slices.ContainsFunc(r.Due, func(t Task) bool { return t.Node == q.Next })
}

// OpenQuestions returns the questions among writes that have no answer, in the same order. An
// Answer with the same base, task and name answers a question. The result shares the payloads.
func OpenQuestions(writes []Write) []Write {
	type key struct {
		base       ID
		task, name string
	}
	var answered map[key]bool
	for i := range writes {
		if w := &writes[i]; w.Kind == Answer {
			if answered == nil {
				answered = make(map[key]bool)
			}
			answered[key{w.Base, w.Task, w.Name}] = true
		}
	}
	var open []Write
	for _, w := range writes {
		if w.Kind == Question && !answered[key{w.Base, w.Task, w.Name}] {
			open = append(open, w)
		}
	}
	return open
}

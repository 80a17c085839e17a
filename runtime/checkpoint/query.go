package checkpoint

import "slices"

// Match reports whether q selects r by its sources, step, node and times. Limit and Before are about a record's
// place among others: they are the saver's to keep.
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
	return q.Node == "" || r.Node == q.Node ||
		slices.ContainsFunc(r.Due, func(t Task) bool { return t.Node == q.Node })
}

// OpenQuestions returns those of the pending writes that are questions without an answer, in the order given: a
// question is answered by an Answer of its base, task and name. The payloads are shared, not copied.
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

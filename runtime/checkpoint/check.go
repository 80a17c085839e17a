package checkpoint

import (
	"bytes"
	"fmt"
	"strconv"
)

// Check returns an [*InvalidError] for the first value in a that no saver accepts, or nil. Every
// saver calls it first. It needs no storage.
func (a *Append) Check() error {
	if err := checkNames(a.Thread, a.Namespace); err != nil {
		return err
	}
	if err := a.checkRun(); err != nil {
		return err
	}
	if len(a.Records) == 0 {
		return &InvalidError{"records", "none", "at least one"}
	}
	before := a.After
	for i := range a.Records {
		if err := a.checkRecord(i, before); err != nil {
			return err
		}
		before = a.Records[i].ID
	}
	if err := a.Messages.check(); err != nil {
		return err
	}
	return checkWrites(a.Writes)
}

// checkRun checks what an Append says of its run: fence, lease, status and end.
func (a *Append) checkRun() error {
	switch {
	case a.Open != nil && a.Namespace != "":
		return &InvalidError{"open", fmt.Sprintf("set for namespace %s", quote(a.Namespace)), "openings of the root only"}
	case a.Open == nil && a.Fence.IsZero():
		return &InvalidError{"fence", "none", "the fence of the run, or an opening"}
	case a.Release && !a.End:
		return &InvalidError{"release", "set without End", "both: a version is released by the write its run ends on"}
	}
	if err := checkDescription("", "", a.Labels, 0); err != nil {
		return err
	}
	if a.Open != nil {
		if len(a.Labels) > 0 {
			return &InvalidError{"Labels", "set for an opening", "Open.Labels"}
		}
		if err := a.Open.check(); err != nil {
			return err
		}
		if len(a.Records) > 0 {
			if err := checkGraph("records[0].Graph", a.Records[0].Graph); err != nil {
				return err
			}
		}
	}
	return checkStatus(a.Status, int64(a.Lease))
}

// checkRecord checks record i, which must follow the previous record.
func (a *Append) checkRecord(i int, before ID) error {
	r := &a.Records[i]
	bad := func(field, found, want string) error {
		return &InvalidError{fmt.Sprintf("records[%d].%s", i, field), found, want}
	}
	switch {
	case r.ID.IsZero():
		return bad("ID", "none", "an id from NewID")
	case bytes.Compare(r.ID[:], before[:]) <= 0:
		return bad("ID", fmt.Sprintf("%s, which is not greater than the id before it, %s", r.ID, before), "an id from NewIDAfter")
	case r.Base.IsZero():
		return bad("Base", "none", "the id of the record that made its tasks due, often its own")
	case r.Source < Input || r.Source > Resume:
		return bad("Source", strconv.Itoa(int(r.Source)), "Input, Loop, Update, Fork or Resume")
	case r.Step < 0:
		return bad("Step", strconv.Itoa(r.Step), "0 or more")
	case !r.Snapshot && before.IsZero():
		return bad("Snapshot", "a delta at the start of the log", "a snapshot")
	case !r.Snapshot && r.Parent != before:
		return bad("Snapshot", fmt.Sprintf("a delta although the parent %s is not the record before it, %s", r.Parent, before), "a snapshot")
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in w that no saver accepts, or nil.
func (w *PutWrites) Check() error {
	if err := checkNames(w.Thread, ""); err != nil {
		return err
	}
	if w.Fence.IsZero() {
		return &InvalidError{"fence", "none", "the fence of the run"}
	}
	if err := checkStatus(w.Status, int64(w.Lease)); err != nil {
		return err
	}
	if err := w.Messages.check(); err != nil {
		return err
	}
	return checkWrites(w.Writes)
}

// Check returns an [*InvalidError] for the first value in p that no saver accepts, or nil.
func (p Ref) Check() error {
	if p.Version < 0 {
		return &InvalidError{"version", strconv.Itoa(p.Version), "0 for the open one, or a number from 1"}
	}
	return checkNames(p.Thread, p.Namespace)
}

// CheckThread returns an [*InvalidError] for a thread id that no saver accepts, or nil.
func CheckThread(thread string) error { return checkNames(thread, "") }

func checkNames(thread, namespace string) error {
	switch {
	case thread == "":
		return &InvalidError{"thread", "the empty id", fmt.Sprintf("1 to %d bytes", MaxThread)}
	case len(thread) > MaxThread:
		return &InvalidError{"thread", fmt.Sprintf("%s, %d bytes", quote(thread), len(thread)), fmt.Sprintf("1 to %d bytes", MaxThread)}
	case len(namespace) > MaxNamespace:
		return &InvalidError{"namespace", fmt.Sprintf("%s, %d bytes", quote(namespace), len(namespace)), fmt.Sprintf("at most %d bytes", MaxNamespace)}
	}
	return nil
}

func checkStatus(s Status, lease int64) error {
	if s > Cancelled {
		return &InvalidError{"status", strconv.Itoa(int(s)), "one of the statuses, or zero to leave it"}
	}
	if lease < 0 {
		return &InvalidError{"lease", "a negative duration", "zero for DefaultLease, or more"}
	}
	return nil
}

func checkWrites(writes []Write) error {
	for i := range writes {
		if err := writes[i].check(); err != nil {
			err.Field = fmt.Sprintf("writes[%d].%s", i, err.Field)
			return err
		}
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in w that no saver accepts, or nil.
func (w *Write) Check() error {
	if err := w.check(); err != nil {
		return err
	}
	return nil
}

func (w *Write) check() *InvalidError {
	if w.Kind == Schema {
		return w.checkSchema()
	}
	switch {
	case len(w.Namespace) > MaxNamespace:
		return &InvalidError{"Namespace", strconv.Itoa(len(w.Namespace)) + " bytes", fmt.Sprintf("at most %d", MaxNamespace)}
	case w.Base.IsZero():
		return &InvalidError{"Base", "none", "the id of the record that made the task due"}
	case w.Task == "" || len(w.Task) > MaxNamespace:
		return &InvalidError{"Task", strconv.Itoa(len(w.Task)) + " bytes", fmt.Sprintf("1 to %d", MaxNamespace)}
	case w.Kind < Result || w.Kind > Outcome:
		return &InvalidError{"Kind", strconv.Itoa(int(w.Kind)), "Result, Question, Answer, Failure, Discard, Schema or Outcome"}
	case len(w.Name) > MaxNamespace:
		return &InvalidError{"Name", strconv.Itoa(len(w.Name)) + " bytes", fmt.Sprintf("at most %d", MaxNamespace)}
	}
	return nil
}

// quote returns s quoted for an error message, shortened when it is long.
func quote(s string) string {
	if len(s) > 64 {
		return strconv.Quote(s[:64]) + "..."
	}
	return strconv.Quote(s)
}

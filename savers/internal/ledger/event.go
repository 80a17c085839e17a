package ledger

import (
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Event is one change of a version: the stored form of an accepted write. A version is the sum of
// its events.
type Event struct {
	Namespace string
	Entries   []*Entry           // with their Seq; the version owns them after Apply
	Writes    []checkpoint.Write // the version owns them after Apply
	Opens     bool               // Entries[0] becomes the fence
	Holder    string             // with Opens
	Ends      bool               // the lease is given up
	Releases  bool               // the version is released
	Status    checkpoint.Status  // zero leaves it
	Time      time.Time          // the saver's clock; with Opens, Ends or Releases
	About     *About             // the thread's new description; nil leaves it
	Wake      *time.Time         // when the thread is due, or the zero time; nil leaves it, and is never with Ends
	Retries   bool               // with Opens: counts as an attempt
	Progress  bool               // sets the attempts to 0

	Handled  checkpoint.Handled   // what a write does with messages
	Messages []checkpoint.Message // new ones, with their numbers; the version owns their payloads after Apply
	Posted   uint64               // the number of the newest message, if it is greater than before
}

// Append makes e the event of an accepted Append to v. The saver makes the entries, with the Seq
// that NextSeq returns for the first.
func (v *Version) Append(e *Event, a *checkpoint.Append, entries []*Entry, writes []checkpoint.Write, now time.Time) {
	*e = Event{
		Namespace: a.Namespace, Entries: entries, Writes: writes,
		Ends: a.End, Releases: a.Release, Status: a.Status, Time: now, Progress: a.Progress, Handled: a.Messages,
	}
	if a.Open != nil {
		e.Opens, e.Holder, e.Retries = true, a.Open.Holder, a.Open.Retry
		wake := Micro(now.Add(LeaseOf(a.Lease)))
		e.Wake = &wake
	}
	if a.End {
		e.Wake = v.endWake(a.Wake, a.Messages.Seen, now)
	}
}

// Put returns the event of an accepted PutWrites; the version owns the writes after Apply.
func (v *Version) Put(w *checkpoint.PutWrites, writes []checkpoint.Write, now time.Time) *Event {
	e := &Event{Writes: writes, Status: w.Status, Ends: w.End, Time: now, Progress: w.Progress, Handled: w.Messages}
	if w.End {
		e.Wake = v.endWake(w.Wake, w.Messages.Seen, now)
	}
	return e
}

// endWake returns the Wake of the event that ends a run: nil for none.
func (v *Version) endWake(wake time.Time, seen uint64, now time.Time) *time.Time {
	if v.Mail.Posted > seen {
		wake = now
	}
	if wake.IsZero() {
		return nil
	}
	return EndWake(wake, now)
}

// NextSeq returns the Seq of the record that follows the head of a namespace.
func (v *Version) NextSeq(namespace string) uint64 {
	if e := v.Head(namespace); e != nil {
		return e.Seq + 1
	}
	return 1
}

// Verify reports why e cannot follow what v holds, or nil. Accepted writes need no Verify: it is
// for events that were stored or come from elsewhere.
func (v *Version) Verify(e *Event) error {
	head, last := v.headID(e.Namespace), v.NextSeq(e.Namespace)-1
	seen := make(map[checkpoint.ID]bool, len(e.Entries))
	for _, r := range e.Entries {
		_, stands := v.where[r.ID]
		switch {
		case r.ID.IsZero():
			return fmt.Errorf("record %d has no id", r.Seq)
		case stands || seen[r.ID]:
			return fmt.Errorf("record %d: the id %s stands already", r.Seq, r.ID)
		case r.Seq <= last:
			return fmt.Errorf("record %d follows record %d", r.Seq, last)
		case !r.Snapshot && (head.IsZero() || r.Seq != last+1):
			return fmt.Errorf("record %d is a delta, and the record before it is not there", r.Seq)
		case r.Source < checkpoint.Input || r.Source > checkpoint.Resume:
			return fmt.Errorf("record %d has source %d, which does not exist", r.Seq, r.Source)
		}
		head, last, seen[r.ID] = r.ID, r.Seq, true
	}
	switch {
	case e.Opens && (len(e.Entries) == 0 || e.Namespace != ""):
		return fmt.Errorf("a run opens without a record of the root")
	case e.Status > checkpoint.Cancelled:
		return fmt.Errorf("status %d does not exist", e.Status)
	case e.About != nil && e.About.Priority > checkpoint.Low:
		return fmt.Errorf("priority %d does not exist", e.About.Priority)
	case !v.Released.IsZero():
		return fmt.Errorf("the version was released before")
	}
	return v.verifyMessages(e)
}

// verifyMessages reports messages of an event that cannot follow those of the version.
func (v *Version) verifyMessages(e *Event) error {
	var untaken uint64
	if n := len(v.Mail.untaken); n > 0 {
		untaken = v.Mail.untaken[n-1].Number
	}
	for i := range e.Messages {
		m := &e.Messages[i]
		handled := m.Taken || m.Refused != ""
		if _, stands := v.Mail.ids[m.ID]; stands || m.Check() != nil || m.Number == 0 || !handled && m.Number <= untaken {
			return fmt.Errorf("message %d with the id %q and kind %d cannot follow message %d", m.Number, m.ID, m.Kind, untaken)
		}
		if !handled {
			untaken = m.Number
		}
	}
	return nil
}

// Apply makes e part of v. Its cost is that of what e holds, whatever v holds already.
func (v *Version) Apply(e *Event) {
	if v.Empty() && len(e.Entries) > 0 {
		v.Status = checkpoint.Running
	}
	for _, entry := range e.Entries {
		v.add(e.Namespace, entry)
	}
	for i := range e.Writes {
		v.store(&e.Writes[i])
	}
	if e.Opens {
		v.Attempts = Attempts(v.Attempts, e.Retries, v.Ended, v.Status)
	}
	if e.Wake != nil {
		v.Wake = *e.Wake
	} else if e.Ends {
		v.Wake = time.Time{}
	}
	if e.Opens {
		v.Fence, v.Holder, v.Ended, v.Updated = e.Entries[0].ID, e.Holder, false, e.Time
	}
	if e.Ends {
		v.Ended, v.Updated = true, e.Time
	}
	v.applyMail(e)
	if e.Releases {
		v.Released, v.Wake, v.Attempts = e.Time, time.Time{}, 0
		v.Mail.refuseOthers(Released)
		if v.Mail.Inputs > 0 {
			v.Wake = Micro(e.Time)
		}
	}
	if e.About != nil {
		v.About = *e.About
	}
	if e.Status != 0 {
		v.Status = e.Status
	}
	if e.Progress || e.Ends && v.Status != checkpoint.Failed {
		v.Attempts = 0
	}
}

// applyMail makes what e says of messages part of v.
func (v *Version) applyMail(e *Event) {
	if !e.Handled.Empty() {
		v.Mail.Handle(&e.Handled)
	}
	for i := range e.Messages {
		v.Mail.Add(&e.Messages[i])
	}
	v.Mail.Posted = max(v.Mail.Posted, e.Posted)
}

// Attempts returns the attempts of a thread after an opening. ended and status are those that the
// run before left.
func Attempts(before int, retry, ended bool, status checkpoint.Status) int {
	switch {
	case !retry:
		return 0
	case !ended || status == checkpoint.Failed:
		return before + 1
	}
	return before
}

// lastWake is the latest Wake. Its microseconds fit into an int64.
var lastWake = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// EndWake returns when a thread is due after a run that ends at the time now.
func EndWake(wake, now time.Time) *time.Time {
	if wake.IsZero() {
		return &wake
	}
	if wake.Before(now) {
		wake = now
	}
	if wake.After(lastWake) {
		wake = lastWake
	}
	wake = Micro(wake)
	return &wake
}

// LeaseOf returns the duration of a lease: that of the caller, or DefaultLease for zero.
func LeaseOf(lease time.Duration) time.Duration {
	if lease == 0 {
		return checkpoint.DefaultLease
	}
	return lease
}

// add adds an entry at the end of a log. It drops the pending writes of the base that the entry
// commits.
func (v *Version) add(namespace string, e *Entry) {
	log := v.log(namespace)
	e.place = place{namespace: namespace, index: len(log)}
	v.where[e.ID] = e
	v.setLog(namespace, append(log, e))
	if e.Commits.IsZero() {
		return
	}
	delete(v.pending, e.Commits)
	if n := len(log); n > 0 && log[n-1].ID == e.Commits { // as it mostly is, and that one is at hand
		log[n-1].committed = true
	} else if base := v.where[e.Commits]; base != nil {
		base.committed = true
	}
}

// store keeps a pending write, or drops what a Discard names.
func (v *Version) store(w *checkpoint.Write) {
	if base := v.where[w.Base]; base != nil && base.committed {
		return
	}
	writes := v.pending[w.Base]
	if w.Kind == checkpoint.Discard {
		for _, kind := range [...]checkpoint.Kind{checkpoint.Result, checkpoint.Failure, checkpoint.Answer} {
			delete(writes, identity{w.Namespace, w.Task, w.Name, kind})
		}
		return
	}
	if writes == nil {
		writes = make(map[identity]*stored)
		v.pending[w.Base] = writes
	}
	id := identity{w.Namespace, w.Task, w.Name, w.Kind}
	old, found := writes[id]
	switch {
	case !found:
		v.stores++
		writes[id] = &stored{Write: *w, order: v.stores}
	case w.Kind != checkpoint.Result && w.Kind != checkpoint.Schema && w.Kind != checkpoint.Outcome:
		writes[id] = &stored{Write: *w, order: old.order}
	}
}

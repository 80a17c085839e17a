package ledger

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Accept decides about an Append that passed its Check. It returns nil and false if the caller
// must store the Append in v. If repeated is true, v already has the records: the caller must not
// store them again. busy is the error for an opening that does not take over a live lease, or nil.
func (v *Version) Accept(a *checkpoint.Append, busy error) (repeated bool, err error) {
	n := len(a.Records)
	last := v.where[a.Records[n-1].ID]
	if v.stands(a, last) && (a.Open == nil || v.Fence == a.Records[0].ID) {
		return true, nil
	}
	switch {
	case a.Open != nil:
		if busy != nil && !a.Open.TakeOver {
			return false, busy
		}
	case a.Fence != v.Fence:
		return false, v.conflict("fence", a.Namespace, a.Fence, v.Fence)
	}
	head := v.headID(a.Namespace)
	if head != a.After {
		return false, v.conflict("head", a.Namespace, a.After, head)
	}
	if a.Open != nil && !IsBirth(a.Open.Birth, v.About.Birth) {
		return false, v.conflict("birth", a.Namespace, a.Open.Birth, v.About.Birth)
	}
	for i := range a.Records { // another namespace may have the id
		if _, found := v.where[a.Records[i].ID]; found {
			return false, v.conflict("exists", a.Namespace, a.After, a.Records[i].ID)
		}
	}
	if a.Open != nil && !v.Mail.holds(&a.Messages) {
		return false, v.conflict("mail", a.Namespace, a.After, head)
	}
	return false, nil
}

// Stands reports whether v already has the records at the place for which they were sent. A Prune
// may have removed all of them but the last, and the record that they follow.
func (v *Version) Stands(a *checkpoint.Append) bool {
	return v.stands(a, v.where[a.Records[len(a.Records)-1].ID])
}

// stands is Stands, where last is what v has of the last record, or nil.
func (v *Version) stands(a *checkpoint.Append, last *Entry) bool {
	n := uint64(len(a.Records))
	if last == nil || last.namespace != a.Namespace || last.Seq < n || (last.Seq == n) != a.After.IsZero() {
		return false
	}
	log := v.log(a.Namespace)
	for i := last.index; i >= 0 && log[i].Seq >= last.Seq-n; i-- {
		want := a.After
		if at := log[i].Seq - (last.Seq - n); at > 0 {
			want = a.Records[at-1].ID
		}
		if log[i].ID != want {
			return false
		}
	}
	return true
}

// AcceptWrites returns an error if v refuses a PutWrites that passed its Check.
func (v *Version) AcceptWrites(w *checkpoint.PutWrites) error {
	if v.Fence.IsZero() || w.Fence != v.Fence {
		return v.conflict("fence", "", w.Fence, v.Fence)
	}
	return nil
}

// AcceptPrune returns an error if v refuses a Prune. busy is the error of a Prune by somebody else
// than the run that holds a live lease, or nil.
func (v *Version) AcceptPrune(keep *checkpoint.Retention, busy error) error {
	switch {
	case keep.Fence.IsZero():
		return busy
	case keep.Fence != v.Fence:
		return v.conflict("fence", "", keep.Fence, v.Fence)
	}
	return nil
}

// conflict returns the error of a call whose want is not what the version has.
func (v *Version) conflict(reason, namespace string, want, found checkpoint.ID) error {
	return &checkpoint.ConflictError{Thread: v.Thread, Namespace: namespace, Want: want, Found: found, Reason: reason}
}

// Missing is the conflict of a write to a thread that has no open version; released says that it
// had one.
func Missing(thread, namespace string, want checkpoint.ID, reason string, released bool) error {
	if released {
		reason = "released"
	}
	return &checkpoint.ConflictError{Thread: thread, Namespace: namespace, Want: want, Reason: reason}
}

// MissingAppend is the conflict of an Append to a thread that has no open version; released says
// that it had one.
func MissingAppend(a *checkpoint.Append, released bool) error {
	if a.Open != nil {
		return Missing(a.Thread, a.Namespace, a.After, "head", released)
	}
	return Missing(a.Thread, a.Namespace, a.Fence, "fence", released)
}

// Appended answers an Append whose records stand in v, at the given time.
func (v *Version) Appended(a *checkpoint.Append, now time.Time) checkpoint.AppendResult {
	last := a.Records[len(a.Records)-1].ID
	e := v.Head(a.Namespace)
	if e.ID != last {
		e = v.where[last] // more has been appended since
	}
	out := checkpoint.AppendResult{Version: v.Number, Head: e.Seq, Posted: v.Mail.Posted}
	if a.Open != nil {
		out.Writes, out.Attempts, out.Now, out.Birth = v.Writes(), v.Attempts, Micro(now), v.About.Birth
	}
	return out
}

// AcceptRelease says whether the open version v may be released by a caller who saw ifHead, zero
// for any.
func (v *Version) AcceptRelease(ifHead checkpoint.ID) error {
	if head := v.headID(""); !ifHead.IsZero() && ifHead != head {
		return v.conflict("head", "", ifHead, head)
	}
	return nil
}

// Exists is the conflict of an Import into a thread whose open version is v.
func (v *Version) Exists() error {
	return v.conflict("exists", "", checkpoint.ID{}, v.headID(""))
}

//go:build unix

package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The calls of clients.
const (
	doOpen     = "open"
	doAppend   = "append"
	doPut      = "put"
	doLoad     = "load"
	doRelease  = "release"
	doVersions = "versions"
	doDelete   = "delete"
	doImport   = "import"
	doPrune    = "prune"
	doPost     = "post"
	doMail     = "mail"
	doNews     = "news"
	doReady    = "ready"
	doRewake   = "rewake"
)

// Their outcomes.
const (
	ok       = "ok"
	conflict = "conflict"
	busy     = "busy"
	missing  = "missing"
	unknown  = "unknown"
	full     = "full"
	notIdle  = "not idle"

	overtaken = "overtaken" // an opening that is stored; another run took the fence before it returned
)

// The wakes of an end and of a rewake; "" is never.
const (
	wakesNow   = "now"
	wakesLater = "later" // not within a history
)

// operation is one call of a saver. Ids are text, "" for none.
type operation struct {
	Client       int
	Call, Return int64 // by the shared counter

	Kind, Thread, Namespace string
	ID, After, Fence, Base  string
	Task                    string // of a put, with its payload; "" when it puts nothing
	TakeOver, End, Release  bool
	Retry, Progress         bool
	Status                  checkpoint.Status // zero leaves it
	Wake                    string            // of an end or a rewake
	Take, Refuse            []uint64          // messages
	Back                    []string          // messages that are returned, as "number:id"
	Text                    string            // the reason of Refuse, and the payload of Back
	Seen                    uint64            // the newest message that a run or a finder knows
	Idle                    bool              // of a post, whose ID has the id of each message
	Max                     int               // the limits of a post; 0 for those that no history reaches
	Refused                 bool              // of a mail: the refused messages
	Reserve                 bool              // of a ready
	Settled                 bool              // no other call is in progress
	Omits                   bool              // a ready may omit a due thread
	Again                   bool              // a ready says that a thread is due when it returns
	Answer                  answer
	Err                     string
}

// answer is what a call returned, as far as it is compared. Each kind of call fills some of it.
type answer struct {
	Outcome string
	Version int
	Seq     uint64
	Log     string // ids, a blank after each
	Base    string
	Writes  string // tasks, a blank after each
	Holder  string
	Posted  uint64 // the number of the newest message
	Mail    string // messages, or the numbers of posted ones, a blank after each
	Counts  string // of untaken messages
	Status  checkpoint.Status
	Tries   int // attempts
	Due     bool
}

// thread is a thread as the contract has it: the open version and how many there are. Its logs,
// and the pending writes of its base, are texts, so that threads can be compared.
type thread struct {
	versions    int
	open        bool
	root, child string
	fence, base string
	writes      string
	holder      string // "" when no lease lives
	status      checkpoint.Status
	attempts    int
	box         box
	pruned      bool // old records may have gone; the logs have them still
}

func head(log string) string {
	ids := strings.Fields(log)
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// stands returns the number of a record that stands in a log after another; 0 when it does not.
func stands(log, after, id string) uint64 {
	ids := strings.Fields(log)
	i := slices.Index(ids, id)
	if i < 0 || i == 0 && after != "" || i > 0 && ids[i-1] != after {
		return 0
	}
	return uint64(i + 1)
}

func size(log string) uint64 { return uint64(len(strings.Fields(log))) }

// do returns the answer of a call on a thread, and the thread after it.
func (t thread) do(o *operation) (answer, thread) {
	switch o.Kind {
	case doOpen:
		return t.doOpen(o)
	case doAppend:
		return t.doAppend(o)
	case doPut:
		return t.doPut(o)
	case doLoad:
		return t.doLoad(o), t
	case doRelease:
		return t.doRelease(o)
	case doDelete, doPrune:
		return t.doRemove(o)
	case doPost, doMail, doNews, doReady, doRewake:
		return t.doInbox(o)
	case doImport:
		if t.open {
			return answer{Outcome: conflict}, t
		}
		return answer{Outcome: ok}, thread{
			versions: t.versions + 1, open: true, status: checkpoint.Running, box: t.box,
			root: o.After + " " + o.ID + " ", base: o.ID, writes: o.Task + " ",
		}
	}
	a := answer{Outcome: ok, Version: t.versions}
	if t.open {
		a.Seq = size(t.root)
	}
	return a, t
}

func (t thread) doOpen(o *operation) (answer, thread) {
	if n := stands(t.root, o.After, o.ID); t.open && n > 0 && t.fence == o.ID {
		return t.opened(n), t
	}
	switch {
	case t.open && t.holder != "" && !o.TakeOver:
		return answer{Outcome: busy}, t
	case !t.open && o.After != "", t.open && head(t.root) != o.After, !t.box.holds(o):
		return answer{Outcome: conflict}, t
	case !t.open:
		t = thread{versions: t.versions + 1, open: true, box: t.box}
	}
	switch {
	case !o.Retry:
		t.attempts = 0
	case t.holder != "" || t.status == checkpoint.Failed:
		t.attempts++
	}
	t.root += o.ID + " "
	t.fence, t.holder, t.base, t.status = o.ID, o.ID, o.Base, o.Status
	t.box = t.box.handle(o)
	t.box.due = false
	return t.opened(size(t.root)), t
}

// opened is the answer of an opening with the number of its record.
func (t thread) opened(seq uint64) answer {
	return answer{Outcome: ok, Version: t.versions, Seq: seq, Writes: t.writes, Posted: t.box.posted, Tries: t.attempts}
}

func (t thread) doAppend(o *operation) (answer, thread) {
	log := &t.root
	if o.Namespace != "" {
		log = &t.child
	}
	if n := stands(*log, o.After, o.ID); t.open && n > 0 {
		return answer{Outcome: ok, Version: t.versions, Seq: n, Posted: t.box.posted}, t
	}
	if !t.open || t.fence != o.Fence || head(*log) != o.After {
		return answer{Outcome: conflict}, t
	}
	*log += o.ID + " "
	a := answer{Outcome: ok, Version: t.versions, Seq: size(*log), Posted: t.box.posted}
	if o.Namespace == "" {
		t.base, t.writes = o.ID, "" // it commits the base before
	}
	t = t.written(o)
	if o.Release {
		t = t.released()
	}
	return a, t
}

func (t thread) doPut(o *operation) (answer, thread) {
	if !t.open || t.fence != o.Fence {
		return answer{Outcome: conflict}, t
	}
	if name, _, _ := strings.Cut(o.Task, "="); o.Task != "" && o.Base == t.base && !strings.Contains(" "+t.writes, " "+name+"=") {
		t.writes += o.Task + " " // the first result of a task wins
	}
	t = t.written(o)
	return answer{Outcome: ok, Posted: t.box.posted}, t
}

func (t thread) doLoad(o *operation) answer {
	log, base, writes := t.root, t.base, t.writes
	if o.Namespace != "" {
		log, base, writes = t.child, head(t.child), ""
	}
	if !t.open || log == "" {
		return answer{Outcome: ok}
	}
	return answer{
		Outcome: ok, Version: t.versions, Seq: size(log), Log: log, Base: base, Writes: writes, Holder: t.holder,
		Counts: t.box.counts(), Status: t.status, Tries: t.attempts,
	}
}

func (t thread) doRelease(o *operation) (answer, thread) {
	switch {
	case !t.open:
		return answer{Outcome: missing}, t
	case t.holder != "":
		return answer{Outcome: busy}, t
	case o.After != "" && o.After != head(t.root):
		return answer{Outcome: conflict}, t
	}
	return answer{Outcome: ok, Version: t.versions, Seq: size(t.root), Base: head(t.root)}, t.released()
}

// doRemove deletes the thread, after which there is none, or prunes it, which changes neither
// heads nor what is pending.
func (t thread) doRemove(o *operation) (answer, thread) {
	switch {
	case t.holder != "":
		return answer{Outcome: busy}, t
	case o.Kind == doDelete:
		return answer{Outcome: ok}, thread{}
	case t.versions == 0 && t.box.posted == 0:
		return answer{Outcome: missing}, t
	}
	t.pruned = t.open
	return answer{Outcome: ok}, t
}

// allows reports whether a thread can give an answer. A pruned thread may lack any records before
// a head. The records that it shows must be those of the log, in order, up to the head. It may
// have forgotten an append that is sent again.
func (t thread) allows(o *operation, want answer) bool {
	got := o.Answer
	if got.Outcome == overtaken {
		return want.Outcome == ok
	}
	if got == want || !t.pruned {
		return got == want
	}
	switch o.Kind {
	case doLoad:
		if head(got.Log) != head(want.Log) || !within(got.Log, want.Log) {
			return false
		}
		got.Log = want.Log
	case doVersions, doRelease:
		if got.Seq == 0 || got.Seq > want.Seq {
			return false
		}
		got.Seq = want.Seq
	case doOpen, doAppend:
		_, next := t.do(o)
		return want.Outcome == ok && next == t && got.Outcome == conflict && o.ID != head(t.root) && o.ID != head(t.child)
	}
	return got == want
}

// within reports whether a log has all of some, in their order.
func within(some, log string) bool {
	ids := strings.Fields(log)
	for _, id := range strings.Fields(some) {
		i := slices.Index(ids, id)
		if i < 0 {
			return false
		}
		ids = ids[i+1:]
	}
	return true
}

// forever is when calls return whose outcome is not known.
const forever = int64(1) << 62

// patience bounds what only waits for an end that comes, on a machine that has much else to do.
const patience = 5 * time.Minute

// linearizable says whether the operations on one thread have an order in which the model answers
// as the saver did.
func linearizable(ops []operation) porcupine.CheckResult {
	result, _ := ordered(ops)
	return result
}

// ordered is linearizable. It also returns the longest order of some operations that it found.
func ordered(ops []operation) (porcupine.CheckResult, []*operation) {
	history := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		history[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return}
		if o.Answer.Outcome == unknown {
			history[i].Return = forever
		}
	}
	result, info := porcupine.CheckOperationsVerbose(porcupine.Model{
		Init: func() any { return thread{} },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(*operation)
			// A call of unknown outcome that did not happen is put last, where its effect is not
			// seen.
			before := state.(thread)
			want, next := before.do(o)
			return o.Answer.Outcome == unknown || before.allows(o, want), next
		},
	}, history, patience)
	var longest []*operation
	for _, some := range info.PartialLinearizations()[0] {
		if len(some) > len(longest) {
			longest = longest[:0:0]
			for _, i := range some {
				longest = append(longest, &ops[i])
			}
		}
	}
	return result, longest
}

// describe prints the longest order of some calls that the model allows, and then all others in
// the order in which they returned. One of the first of those has the wrong answer.
func describe(ops []operation) string {
	short := func(ids string) string {
		fields := strings.Fields(ids)
		for i, id := range fields {
			fields[i] = id[max(len(id)-6, 0):]
		}
		return strings.Join(fields, " ")
	}
	_, order := ordered(ops)
	fits := len(order)
	for i := range ops {
		if !slices.Contains(order, &ops[i]) {
			order = append(order, &ops[i])
		}
	}
	slices.SortFunc(order[fits:], func(a, b *operation) int { return int(a.Return - b.Return) })
	var b strings.Builder
	for i, o := range order {
		if i == fits {
			b.WriteString("after which the model allows none of:\n")
		}
		fmt.Fprintf(&b, "%4d..%4d client %d %s%s", o.Call, o.Return, o.Client, o.Kind, map[bool]string{true: " of the child"}[o.Namespace != ""])
		fmt.Fprintf(&b, " id %s after %s fence %s base %s task %q takeover %t end %t release %t", short(o.ID), short(o.After), short(o.Fence), short(o.Base), o.Task, o.TakeOver, o.End, o.Release)
		fmt.Fprintf(&b, " retry %t progress %t status %v wake %q", o.Retry, o.Progress, o.Status, o.Wake)
		fmt.Fprintf(&b, " take %v refuse %v return %v with %q seen %d idle %t max %d refused %t:", o.Take, o.Refuse, o.Back, o.Text, o.Seen, o.Idle, o.Max, o.Refused)
		a := o.Answer
		fmt.Fprintf(&b, " %s version %d seq %d log [%s] base %s writes %q holder %s posted %d mail [%s]", a.Outcome, a.Version, a.Seq, short(a.Log), short(a.Base), a.Writes, short(a.Holder), a.Posted, a.Mail)
		fmt.Fprintf(&b, " counts %q status %v attempts %d due %t %s\n", a.Counts, a.Status, a.Tries, a.Due, o.Err)
	}
	return b.String()
}

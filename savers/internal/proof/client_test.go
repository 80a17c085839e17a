//go:build unix

package proof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// client does random things to threads, one after another, and takes down what came of them.
type client struct {
	saver   checkpoint.Saver
	number  int
	now     func() int64 // the shared counter, one further at every call
	threads []string
	random  *rand.Rand
	known   map[string]*known
	ops     []operation
	stray   int // calls of unknown outcome

	reserves bool // it reserves threads, which no other client does at the same time
}

// known is what a client thinks of a thread.
type known struct {
	head, base string
	run        *held
	again      *operation // a call whose outcome is not known

	mail    []string   // untaken messages as "number:id"
	handled []string   // taken or refused ones
	posted  uint64     // the newest message
	found   *operation // a ready thread
}

// held is a run that a client thinks it holds.
type held struct {
	fence, head, before, child, base string
	ended                            bool
}

// long is a lease that does not end by itself.
const long = time.Hour

// most is how many calls of unknown outcome a client makes on all threads. Each of them may have
// happened at any time, which makes a history harder to check.
const most = 3

// work makes n calls.
func (c *client) work(n int) []operation {
	for range n {
		c.step()
	}
	return c.ops
}

// step makes one call.
func (c *client) step() {
	name := c.threads[c.random.IntN(len(c.threads))]
	k := c.known[name]
	if k == nil {
		k = new(known)
		c.known[name] = k
	}
	o := c.choose(k)
	o.Thread, o.Client = name, c.number
	c.call(&o)
	c.learn(k, &o)
	c.ops = append(c.ops, o)
}

func newID() string {
	id, err := checkpoint.NewID()
	if err != nil {
		return err.Error() // no id, which the next call will say
	}
	return id.String()
}

// choose thinks of a call.
func (c *client) choose(k *known) operation {
	if k.again != nil && c.random.IntN(2) == 0 {
		o := *k.again
		k.again = nil
		o.Answer, o.Err = answer{}, ""
		return o
	}
	if c.random.IntN(4) == 0 {
		return c.inbox(k)
	}
	n := c.random.IntN(100)
	switch {
	case n < 15:
		o := operation{Kind: doLoad}
		if n < 4 {
			o.Namespace = "child"
		}
		return o
	case n < 18:
		return operation{Kind: doVersions}
	case n < 20:
		return operation{Kind: doDelete}
	case n < 23:
		return operation{Kind: doPrune}
	case n < 25:
		return operation{Kind: doImport, After: newID(), ID: newID(), Task: "a=" + newID()[30:]}
	case n < 30:
		o := operation{Kind: doRelease}
		if n%2 == 0 {
			o.After = k.head
		}
		return o
	case k.run == nil || n < 38:
		return c.opening(k)
	}
	o := c.running(k.run, n)
	o.Seen, o.Progress = k.posted, c.random.IntN(4) == 0
	if o.End {
		o.Wake = c.wake()
		o.Status = []checkpoint.Status{checkpoint.Ready, checkpoint.Failed, checkpoint.Done, checkpoint.Cancelled}[c.random.IntN(4)]
	}
	if c.random.IntN(2) == 0 {
		c.handle(k, &o)
	}
	return o
}

func (c *client) opening(k *known) operation {
	o := operation{
		Kind: doOpen, ID: newID(), After: k.head, Base: k.base, Status: checkpoint.Running,
		TakeOver: c.random.IntN(3) > 0, Retry: c.random.IntN(4) > 0,
	}
	c.handle(k, &o)
	if o.After == "" {
		o.Base = o.ID
	}
	return o
}

// running thinks of a call of a run.
func (c *client) running(r *held, n int) operation {
	switch {
	case n < 50:
		task := string(rune('a'+c.random.IntN(4))) + "=" + newID()[30:]
		return operation{Kind: doPut, Fence: r.fence, Base: r.base, Task: task}
	case n < 57:
		return operation{Kind: doPut, Fence: r.fence, End: true}
	case n < 64:
		return operation{Kind: doAppend, Namespace: "child", ID: newID(), After: r.child, Fence: r.fence}
	case n < 69:
		return operation{Kind: doAppend, ID: newID(), After: r.before, Fence: r.fence, Base: r.base} // behind the head
	}
	return operation{Kind: doAppend, ID: newID(), After: r.head, Fence: r.fence, Base: r.base, End: n > 87, Release: n > 96}
}

// call makes a call and notes when it began, what it answered and when.
func (c *client) call(o *operation) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if c.stray < most && o.Kind != doLoad && o.Kind != doVersions && o.Kind != doReady && c.random.IntN(30) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.random.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	o.Call = c.now()
	err := c.send(ctx, o)
	o.Return = c.now()
	if err != nil {
		o.Answer = answer{Outcome: outcome(err)}
		if c := new(checkpoint.ConflictError); errors.As(err, &c) && o.Kind == doOpen && c.Want == parse(o.ID) {
			o.Answer.Outcome = overtaken
		}
		o.Err = err.Error()
	}
	if o.Answer.Outcome == unknown {
		c.stray++
	}
}

func outcome(err error) string {
	var held *checkpoint.BusyError
	switch {
	case errors.As(err, &held):
		return busy
	case errors.Is(err, checkpoint.ErrConflict):
		return conflict
	case errors.Is(err, checkpoint.ErrNotFound):
		return missing
	case errors.Is(err, checkpoint.ErrInboxFull):
		return full
	case errors.Is(err, checkpoint.ErrNotIdle):
		return notIdle
	case errors.Is(err, context.DeadlineExceeded):
		return unknown
	}
	return "error"
}

func parse(text string) checkpoint.ID {
	id, err := checkpoint.ParseID(text)
	if err != nil {
		return checkpoint.ID{} // none
	}
	return id
}

func (c *client) send(ctx context.Context, o *operation) error {
	switch o.Kind {
	case doOpen, doAppend:
		return c.sendAppend(ctx, o)
	case doPut:
		p := checkpoint.PutWrites{
			Thread: o.Thread, Fence: parse(o.Fence), Lease: long, Status: o.Status, End: o.End, Wake: timeOf(o.Wake), Progress: o.Progress,
			Messages: handled(o),
		}
		if name, _, found := strings.Cut(o.Task, "="); found {
			p.Writes = []checkpoint.Write{{Base: parse(o.Base), Task: name, Kind: checkpoint.Result, Payload: []byte(o.Task)}}
		}
		done, err := c.saver.PutWrites(ctx, p)
		o.Answer = answer{Outcome: ok, Posted: done.Posted}
		return err
	case doDelete, doImport, doPrune:
		o.Answer = answer{Outcome: ok}
		return c.sendWhole(ctx, o)
	case doPost, doMail, doNews, doReady, doRewake:
		return c.sendInbox(ctx, o)
	case doLoad:
		chain, err := c.saver.Load(ctx, checkpoint.Ref{Thread: o.Thread, Namespace: o.Namespace})
		o.Answer = loaded(&chain)
		return err
	case doRelease:
		v, err := c.saver.Release(ctx, o.Thread, parse(o.After))
		o.Answer = answer{Outcome: ok, Version: v.Number, Seq: uint64(v.Records), Base: v.Head.String()}
		return err
	}
	all, err := c.saver.Versions(ctx, o.Thread)
	o.Answer = answer{Outcome: ok, Version: len(all)}
	if n := len(all); n > 0 && all[n-1].Released.IsZero() {
		o.Answer.Seq = uint64(all[n-1].Records)
	}
	return err
}

// sendWhole sends what is done to a thread as a whole.
func (c *client) sendWhole(ctx context.Context, o *operation) error {
	switch o.Kind {
	case doDelete:
		return c.saver.Delete(ctx, o.Thread)
	case doPrune:
		_, err := c.saver.Prune(ctx, o.Thread, checkpoint.Retention{Last: 1 + c.random.IntN(2)})
		return err
	}
	return c.saver.Import(ctx, o.Thread, func(yield func(checkpoint.ExportItem, error) bool) {
		first, last := record(checkpoint.ID{}, parse(o.After)), record(parse(o.After), parse(o.ID))
		first.Seq, last.Seq, last.Commits = 1, 2, first.ID
		write := checkpoint.Write{Base: last.ID, Task: "a", Kind: checkpoint.Result, Payload: []byte(o.Task)}
		_ = yield(checkpoint.ExportItem{Thread: &checkpoint.Thread{ID: o.Thread, Status: checkpoint.Running, Graph: o.Thread}}, nil) &&
			yield(checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Record: first}}, nil) &&
			yield(checkpoint.ExportItem{Record: &checkpoint.NamespaceRecord{Record: last}}, nil) &&
			yield(checkpoint.ExportItem{Write: &write}, nil)
	})
}

// record returns a record that is a base of its own. Its state is its id.
func record(after, id checkpoint.ID) checkpoint.Record {
	r := checkpoint.Record{ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Loop, Snapshot: after.IsZero()}
	r.Payload = payload(&r)
	return r
}

// payload returns the payload that a record has to have: the state, or the change that makes it.
func payload(r *checkpoint.Record) []byte {
	if r.Snapshot {
		return wire.AppendString(wire.AppendString(wire.AppendMapLen(nil, 1), "id"), r.ID.String())
	}
	b := wire.AppendInt(wire.AppendArrayLen(nil, 2), 0)
	b = wire.AppendString(wire.AppendMapLen(b, 1), "id")
	return wire.AppendString(wire.AppendInt(wire.AppendArrayLen(b, 2), 0), r.ID.String())
}

func (c *client) sendAppend(ctx context.Context, o *operation) error {
	after := parse(o.After)
	r := record(after, parse(o.ID))
	a := checkpoint.Append{
		Thread: o.Thread, Namespace: o.Namespace, After: after, Fence: parse(o.Fence), Lease: long, Status: o.Status,
		End: o.End, Release: o.Release, Wake: timeOf(o.Wake), Progress: o.Progress, Messages: handled(o),
	}
	switch {
	case o.Kind == doOpen:
		a.Open = &checkpoint.Opening{Holder: o.ID, TakeOver: o.TakeOver, Retry: o.Retry}
		r.Source, r.Base = checkpoint.Resume, parse(o.Base)
	case o.Namespace == "":
		r.Commits = parse(o.Base)
	}
	r.Graph = o.Thread
	a.Records = []checkpoint.Record{r}
	done, err := c.saver.Append(ctx, a)
	o.Answer = answer{Outcome: ok, Version: done.Version, Seq: done.Head, Writes: tasks(done.Writes), Posted: done.Posted, Tries: done.Attempts}
	return err
}

// loaded is what a client sees of a chain: the ids of all its records, which are in their
// payloads. Every log here has one snapshot, its first record, until it is pruned.
func loaded(chain *checkpoint.Chain) answer {
	a := answer{Outcome: ok}
	if chain.Empty() {
		return a
	}
	for i, payload := range append([][]byte{chain.Snapshot}, chain.Deltas...) {
		ids, err := idsIn(payload, i == 0)
		for _, id := range ids {
			a.Log += id + " "
		}
		if err != nil {
			a.Log += fmt.Sprintf("with the payload %x: %v ", payload, err)
		}
	}
	last := chain.Last
	if n := len(strings.Fields(a.Log)); n != chain.Chained+1 || !bytes.Equal(last.Payload, payload(&last)) {
		a.Log += fmt.Sprintf("of %d records, the last %s with the payload %x", chain.Chained+1, last.ID, last.Payload)
	}
	a.Version, a.Seq, a.Base = chain.Version, last.Seq, last.Base.String()
	a.Writes, a.Holder = tasks(chain.Writes), chain.Thread.Holder
	t := &chain.Thread
	a.Counts, a.Status, a.Tries = countText(t.Posted, t.Inputs, t.Others, t.Cancels), t.Status, t.Attempts
	return a
}

// idsIn returns the ids in a payload: one in that of a record, more in joined ones.
func idsIn(b []byte, snapshot bool) (ids []string, err error) {
	r := wire.NewReader("payload", b)
	if snapshot {
		r.MapLen()
		r.Str()
		return []string{r.Str()}, r.End()
	}
	r.ArrayLen()
	r.Int()
	r.MapLen()
	r.Str()
	for n := r.ArrayLen(); n > 1; n -= 2 {
		r.Int()
		ids = append(ids, r.Str())
	}
	return ids, r.End()
}

func tasks(writes []checkpoint.Write) string {
	var b strings.Builder
	for _, w := range writes {
		b.Write(w.Payload)
		b.WriteByte(' ')
	}
	return b.String()
}

// learn takes note of what an answer says.
func (c *client) learn(k *known, o *operation) {
	done := o.Answer.Outcome == ok
	if done {
		k.learnMail(o)
	}
	switch {
	case o.Answer.Outcome == unknown:
		if !o.Release && (o.Kind == doOpen || o.Kind == doAppend || o.Kind == doPut || o.Kind == doPost) {
			again := *o
			k.again = &again
		}
		k.run = nil
	case o.Kind == doLoad && o.Namespace == "" && done:
		k.head, k.base = head(o.Answer.Log), o.Answer.Base
	case o.Kind == doDelete && done:
		*k = known{}
	case o.Kind == doImport && done:
		k.head, k.base = o.ID, o.ID
	case o.Kind == doOpen && done:
		k.head, k.base = o.ID, o.Base
		k.run = &held{fence: o.ID, head: o.ID, before: o.After, base: o.Base}
	case k.run == nil || o.Fence != k.run.fence:
	case done && o.End && o.Kind == doPut:
		k.run.ended = true
	case o.Kind == doAppend && o.Namespace != "" && done:
		k.run.child = o.ID
	case o.Kind == doAppend && o.Namespace == "" && done && o.After == k.run.head:
		k.run.before, k.run.head, k.run.base = k.run.head, o.ID, o.ID
		k.head, k.base = o.ID, o.ID
		k.run.ended = k.run.ended || o.End
		if o.Release || o.End && c.random.IntN(2) == 0 {
			k.run = nil
		}
	case o.Answer.Outcome == conflict && c.random.IntN(3) > 0:
		k.run = nil
	}
}

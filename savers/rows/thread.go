package rows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// threadRow is the value of a row of Threads: all that changes when a run opens or ends, and when
// a message comes.
type threadRow struct {
	ID       string
	About    ledger.About
	Last     int  // the number of the newest version that there ever was
	Open     int  // the number of the open version; 0 if none is
	Versions int  // how many there are, with the open one
	Root     root // of the open version
	Status   checkpoint.Status
	Fence    checkpoint.ID
	Holder   string
	Until    time.Time // when the lease ends; zero if the run has given it up
	Updated  time.Time // when the newest run opened or ended
	Wake     time.Time
	Attempts int

	Posted  uint64 // the number of the newest message
	Inputs  int    // untaken inputs
	Others  int    // other untaken messages
	Cancels int    // how many of Others are cancels
	Handled uint64 // how many messages were ever taken or refused
	Forgot  uint64 // how many of these are removed
	Replies uint64 // how many replies were ever given

	MailBytes uint64 // the size of untaken messages at most: it becomes smaller when none is left

	Asked   bool   // the open version may have questions
	Missing uint64 // the Seq of its root's head less the number of records: how many were removed

	// Rewrites counts the changes of rows of records: by Prune and by packing. It gives the row
	// another revision, so that nobody reads or changes records that have moved meanwhile.
	Rewrites uint64

	// Head and Step are those of the newest record of the root while the lease is given up. They
	// save lists a read. Chain is how many records restore its state; 0 if that is unknown. While
	// a run holds the thread they are out of date.
	Head  checkpoint.ID
	Step  int
	Chain int

	transit transit // where the thread is in a move between places
}

// thread is the row of a thread as a call has read it.
type thread struct {
	threadRow
	rev uint64    // 0: there is no row
	now time.Time // when it was read, on the clock of the storage
}

// exists reports whether the thread was ever created.
func (t *thread) exists() bool { return t.rev != 0 }

// leased reports whether a run holds the thread.
func (t *thread) leased() bool { return t.Open != 0 && t.Until.After(t.now) }

// runs reports whether a run holds the thread, or died: then Head is out of date.
func (t *thread) runs() bool { return t.Open != 0 && !t.Until.IsZero() }

// lease returns the end of a live lease, or zero.
func (t *thread) lease() time.Time {
	if t.leased() {
		return t.Until
	}
	return time.Time{}
}

// busy returns a *BusyError if a run holds the thread.
func (t *thread) busy() error {
	if !t.leased() {
		return nil
	}
	return &checkpoint.BusyError{Thread: t.ID, Holder: t.Holder, Until: t.Until}
}

// conflict returns the error of a call whose want is not what the thread has.
func (t *thread) conflict(reason, namespace string, want, found checkpoint.ID) error {
	return &checkpoint.ConflictError{Thread: t.ID, Namespace: namespace, Want: want, Found: found, Reason: reason}
}

// onlyReleased reports whether the thread has released versions, and no open one.
func (t *thread) onlyReleased() bool { return t.Open == 0 && t.Versions > 0 }

// shown returns the status that lists show; zero if they leave the thread out.
func (t *threadRow) shown() checkpoint.Status {
	switch {
	case t.Open != 0:
		return t.Status
	case t.Inputs > 0:
		return checkpoint.Ready
	}
	return 0
}

// describe returns the open version as a Thread, without what records and writes say.
func (t *thread) describe() checkpoint.Thread {
	d := checkpoint.Thread{
		ID: t.ID, Version: t.Open, Status: t.shown(), Updated: t.Updated, Now: t.now, Versions: t.Versions, Wake: t.Wake,
		Attempts: t.Attempts, Posted: t.Posted, Inputs: t.Inputs, Others: t.Others, Cancels: t.Cancels,
	}
	if t.leased() {
		d.Holder, d.Lease = t.Holder, t.Until
	}
	switch {
	case d.Status == 0:
		d.Updated = time.Time{}
	case d.Updated.IsZero():
		d.Updated = t.About.Created
	}
	t.About.Describe(&d)
	return d
}

// ready returns the thread as Ready returns it.
func (t *thread) ready() checkpoint.ReadyThread {
	r := checkpoint.ReadyThread{
		ID: t.ID, Graph: t.About.Graph, Status: t.Status, Wake: t.Wake, Fence: t.Fence, Attempts: t.Attempts, Posted: t.Posted,
		Labels: t.About.Labels, Priority: t.About.Rank(), Birth: t.About.Birth,
	}
	if t.Open == 0 {
		r.Status = checkpoint.Ready
	}
	return r
}

// appendTo appends the stored form of t.
func (t *threadRow) appendTo(b, key []byte) []byte {
	from := len(b)
	for _, s := range [...]string{t.About.Graph, t.About.Title, t.Holder} {
		b = codec.AppendString(b, s)
	}
	b = codec.AppendLabels(b, t.About.Labels)
	for _, at := range [...]time.Time{t.About.Created, t.Until, t.Updated, t.Wake} {
		b = binary.AppendVarint(b, micro(at))
	}
	b = append(append(append(append(b, t.Root[:]...), t.Fence[:]...), t.About.Birth[:]...), t.Head[:]...)
	for _, n := range [...]uint64{
		uint64(t.About.Priority), uint64(t.Last), uint64(t.Open), uint64(t.Versions), uint64(t.Status), uint64(t.Attempts),
		t.Posted, uint64(t.Inputs), uint64(t.Others), uint64(t.Cancels), t.Handled, t.Forgot, flag(t.Asked), uint64(t.Step), t.Missing, t.Rewrites,
		uint64(t.Chain),
	} {
		b = binary.AppendUvarint(b, n)
	}
	moves := t.transit.stage != 0
	if t.Replies > 0 || t.MailBytes > 0 || moves { // most threads have none of them
		b = binary.AppendUvarint(b, t.Replies)
	}
	if t.MailBytes > 0 || moves {
		b = binary.AppendUvarint(b, t.MailBytes)
	}
	if moves {
		b = append(codec.AppendString(append(b, byte(t.transit.stage)), t.transit.place), t.transit.token[:]...)
		b = binary.AppendUvarint(binary.AppendVarint(b, micro(t.transit.until)), flag(t.transit.again))
	}
	return seal(b, from, key)
}

// thread returns the thread of a row.
func (r *Row) thread() (*threadRow, error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return nil, err
	}
	in := codec.NewReader(body)
	t := &threadRow{ID: string(r.Key)}
	t.About.Graph, t.About.Title, t.Holder, t.About.Labels = in.String(), in.String(), in.String(), in.Labels()
	t.About.Created, t.Until, t.Updated, t.Wake = moment(in.Varint()), moment(in.Varint()), moment(in.Varint()), moment(in.Varint())
	copy(t.Root[:], in.Fixed(len(t.Root)))
	t.Fence, t.About.Birth, t.Head = in.ID(), in.ID(), in.ID()
	t.About.Priority = checkpoint.Priority(in.Uvarint())
	t.Last, t.Open, t.Versions = in.Int(), in.Int(), in.Int()
	t.Status, t.Attempts = checkpoint.Status(in.Uvarint()), in.Int()
	t.Posted, t.Inputs, t.Others, t.Cancels = in.Uvarint(), in.Int(), in.Int(), in.Int()
	t.Handled, t.Forgot, t.Asked, t.Step = in.Uvarint(), in.Uvarint(), in.Uvarint() == 1, in.Int()
	t.Missing, t.Rewrites, t.Chain = in.Uvarint(), in.Uvarint(), in.Int()
	if in.Offset() < len(body) {
		t.Replies = in.Uvarint()
	}
	if in.Offset() < len(body) {
		t.MailBytes = in.Uvarint()
	}
	if in.Offset() < len(body) {
		t.transit = transit{Stage(in.Byte()), in.String(), in.ID(), moment(in.Varint()), in.Uvarint() == 1}
		if in.Err() == nil && (t.transit.stage == 0 || t.transit.stage > Arriving) {
			return nil, damaged(r.Key, fmt.Errorf("a thread in stage %d of a move", t.transit.stage))
		}
	}
	if err := in.End(); err != nil {
		return nil, damaged(r.Key, err)
	}
	return t, nil
}

// equal reports whether the rows of t and u are the same.
func (t *threadRow) equal(u *threadRow) bool {
	return t.ID == u.ID && t.Last == u.Last && t.Open == u.Open && t.Versions == u.Versions && t.Root == u.Root && t.Status == u.Status &&
		t.Fence == u.Fence && t.Holder == u.Holder && t.Until.Equal(u.Until) && t.Updated.Equal(u.Updated) && t.Wake.Equal(u.Wake) &&
		t.Attempts == u.Attempts && t.Posted == u.Posted && t.Inputs == u.Inputs && t.Others == u.Others && t.Cancels == u.Cancels &&
		t.Handled == u.Handled && t.Forgot == u.Forgot && t.Replies == u.Replies && t.MailBytes == u.MailBytes && t.Asked == u.Asked && t.Head == u.Head && t.Step == u.Step && t.Chain == u.Chain && t.Missing == u.Missing && t.Rewrites == u.Rewrites &&
		t.transit.stage == u.transit.stage && t.transit.place == u.transit.place && t.transit.token == u.transit.token && t.transit.until.Equal(u.transit.until) && t.transit.again == u.transit.again &&
		t.About.Graph == u.About.Graph && t.About.Title == u.About.Title && t.About.Priority == u.About.Priority &&
		t.About.Birth == u.About.Birth && t.About.Created.Equal(u.About.Created) && maps.Equal(t.About.Labels, u.About.Labels)
}

// The kinds of keys of the table Index. All but byWake are in the order of listKey.
const (
	byAge    = 'a' // each thread that lists have, unless it is a task of a queue
	byGraph  = 'g' // the same, with its graph
	byLabel  = 'l' // with the name and the value of a label
	byStatus = 's' // with its status, unless that is Done or Running; its graph follows listKey
	byWake   = 'w' // each thread with a Wake: its graph, priority, Wake and id
)

// index returns the keys that the row of t has in the table Index.
func (t *threadRow) index() [][]byte { return t.indexLists(t.indexWake(nil)) }

// indexWake appends the key by which Ready finds t, if it has one.
func (t *threadRow) indexWake(keys [][]byte) [][]byte {
	if t.due().IsZero() {
		return keys
	}
	return append(keys, wakeKey(t))
}

// sameWake reports whether indexWake returns the same for u, the row of the same thread.
func (t *threadRow) sameWake(u *threadRow) bool {
	return t.due().Equal(u.due()) && t.About.Graph == u.About.Graph && t.About.Rank() == u.About.Rank()
}

// indexLists appends the keys by which lists find t.
func (t *threadRow) indexLists(keys [][]byte) [][]byte {
	status := t.shown()
	if status == 0 || strings.HasPrefix(t.ID, checkpoint.TaskPrefix) || t.transit.stage == Arriving { // no list with an index has it
		return keys
	}
	order := listKey(t.About.Created, t.ID)
	keys = append(keys, slices.Concat([]byte{byAge}, order), slices.Concat(graphIndex(t.About.Graph), order))
	for name, value := range t.About.Labels {
		keys = append(keys, slices.Concat(labelIndex(name, value), order))
	}
	if hasIndex(status) {
		keys = append(keys, slices.Concat([]byte{byStatus, byte(status)}, order, []byte(t.About.Graph)))
	}
	return keys
}

// sameLists reports whether indexLists returns the same for u, the row of the same thread.
func (t *threadRow) sameLists(u *threadRow) bool {
	a, b := t.shown(), u.shown()
	return (t.transit.stage == Arriving) == (u.transit.stage == Arriving) && (a == b || a != 0 && b != 0 && !hasIndex(a) && !hasIndex(b)) && t.About.Graph == u.About.Graph &&
		t.About.Created.Equal(u.About.Created) && maps.Equal(t.About.Labels, u.About.Labels)
}

// hasIndex reports whether threads with a status are in the index. Most threads are Done, and all
// others are Running for a short time.
func hasIndex(s checkpoint.Status) bool { return s != checkpoint.Done && s != checkpoint.Running }

// graphIndex returns what the index rows of the threads of a graph begin with.
func graphIndex(graph string) []byte { return codec.AppendString([]byte{byGraph}, graph) }

// labelIndex returns what the index rows of the threads with a label begin with.
func labelIndex(name, value string) []byte {
	return codec.AppendString(codec.AppendString([]byte{byLabel}, name), value)
}

// wakeKey is the key of the index by which Ready finds the thread.
func wakeKey(t *threadRow) []byte {
	k := append(codec.AppendString([]byte{byWake}, t.About.Graph), byte(t.About.Rank()))
	return append(binary.BigEndian.AppendUint64(k, uint64(micro(t.due()))), t.ID...)
}

// listKey is the end of a key of an index, which has the order NewestFirst: the complement of the
// time, and that of the id. In the id, 0xff 0x00 stands for the complement of a zero byte, and
// 0xff 0xff is the end.
func listKey(created time.Time, id string) []byte {
	k := binary.BigEndian.AppendUint64(make([]byte, 0, 10+len(id)), ^uint64(micro(created)))
	for i := range len(id) {
		if k = append(k, ^id[i]); id[i] == 0 {
			k = append(k, 0)
		}
	}
	return append(k, 0xff, 0xff)
}

// listedID returns the id of the thread in a key that begins with a listKey, and what follows.
func listedID(key []byte) (id, rest []byte, ok bool) {
	id = make([]byte, 0, len(key))
	for i := 8; i+1 < len(key); i++ {
		if key[i] == 0xff && key[i+1] == 0xff {
			return id, key[i+2:], true
		}
		if id = append(id, ^key[i]); key[i] == 0xff {
			i++
		}
	}
	return nil, nil, false
}

// changeThread adds the new row of a thread to c, with what changes in its indexes.
func (c *Change) changeThread(old *thread, next *threadRow) {
	c.Checks = append(c.Checks, Check{Thread: old.ID, Rev: old.rev})
	if old.exists() && next.equal(&old.threadRow) {
		return
	}
	key := threadKey(old.ID)
	c.Puts = append(c.Puts, Put{
		Key: key, Value: next.appendTo(make([]byte, 0, 256), key.Bytes), Columns: &Columns{
			Graph: next.About.Graph, Title: next.About.Title, Version: next.Open, Status: next.shown(),
			Created: next.About.Created, Updated: next.Updated, Wake: next.due(),
		},
	})
	var before, now [][]byte
	if !old.exists() || !next.sameWake(&old.threadRow) {
		now = next.indexWake(now)
		if old.exists() {
			before = old.indexWake(before)
		}
	}
	if !old.exists() || !next.sameLists(&old.threadRow) {
		now = next.indexLists(now)
		if old.exists() {
			before = old.indexLists(before)
		}
	}
	has := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	for _, k := range before {
		if !has(now, k) {
			c.Deletes = append(c.Deletes, point(Key{Table: Index, Bytes: k}))
		}
	}
	for _, k := range now {
		if !has(before, k) {
			c.Puts = append(c.Puts, Put{Key: Key{Table: Index, Bytes: k}})
		}
	}
}

// removeThread adds the removal of the row of a thread to c, with its indexes.
func (c *Change) removeThread(t *thread) {
	c.Checks = append(c.Checks, Check{Thread: t.ID, Rev: t.rev})
	c.Deletes = append(c.Deletes, point(threadKey(t.ID)))
	for _, k := range t.index() {
		c.Deletes = append(c.Deletes, point(Key{Table: Index, Bytes: k}))
	}
}

// flag returns a boolean as a number for a row.
func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// How long a part of an import waits for the next before it is taken as abandoned, in
// milliseconds.
const stageFor = "3600000"

// Import makes a thread's next version, as [checkpoint.Saver] says. The items are stored apart
// from the thread until all have arrived. If the process dies before, they expire within an hour.
func (s *Saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if err := checkpoint.CheckThread(thread); err != nil {
		return err
	}
	versions, err := s.Versions(ctx, thread)
	if err != nil {
		return err
	}
	next := 1
	if n := len(versions); n > 0 {
		next = versions[n-1].Number + 1
	}
	st, err := s.newStage(thread, next)
	if err != nil {
		return err
	}
	err = st.take(ctx, items)
	if err == nil {
		err = st.commit(ctx)
	}
	if err == nil {
		return s.packImported(ctx, thread, st.records)
	}
	if st.begun {
		// If this fails too, the items expire.
		_ = s.do(context.WithoutCancel(ctx), "import", func(ctx context.Context) error { return s.client.Unlink(ctx, st.keys[1]).Err() })
	}
	return err
}

// stage is a version on its way in.
type stage struct {
	saver   *Saver
	thread  string
	keys    []string // the thread's and the stage's
	begun   bool
	prefix  string // of the version's fields
	uid     checkpoint.ID
	ledger  *ledger.Version // the headers
	intake  ledger.Intake
	numbers map[string]int // of namespaces
	commits map[checkpoint.ID]bool
	records int
	mail    []byte // the numbers of messages
	batch   []any
	size    int
}

func (s *Saver) newStage(thread string, version int) (*stage, error) {
	uid, err := checkpoint.NewID()
	if err != nil {
		return nil, err
	}
	key := s.key(thread)
	return &stage{
		saver: s, thread: thread, keys: []string{key, key + ":" + uid.String()}, prefix: strconv.Itoa(version) + ":", uid: uid,
		ledger: ledger.New(thread, version), numbers: make(map[string]int), commits: make(map[checkpoint.ID]bool),
	}, nil
}

// take checks all items and keeps what they hold.
func (st *stage) take(ctx context.Context, items iter.Seq2[checkpoint.ExportItem, error]) error {
	for item, err := range items {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = st.intake.Take(item)
		}
		if err == nil {
			err = st.item(ctx, item)
		}
		if err != nil {
			return err
		}
	}
	return st.intake.End()
}

// item stores a record, or keeps a write in the ledger until the end.
func (st *stage) item(ctx context.Context, item checkpoint.ExportItem) error {
	switch {
	case item.Write != nil:
		return st.ledger.Follow(&ledger.Event{Writes: []checkpoint.Write{*item.Write}})
	case item.Message != nil:
		return st.message(ctx, item.Message)
	case item.Record == nil:
		return nil
	}
	r := item.Record.Record
	header := checkpoint.Record{ID: r.ID, Seq: r.Seq, Base: r.Base, Commits: r.Commits, Step: r.Step, Source: r.Source, Snapshot: r.Snapshot}
	err := st.ledger.Follow(&ledger.Event{Namespace: item.Record.Namespace, Entries: []*ledger.Entry{{Record: header}}})
	if err != nil {
		return err
	}
	st.records++
	if !r.Commits.IsZero() {
		st.commits[r.Commits] = true
	}
	k, found := st.numbers[item.Record.Namespace]
	if !found {
		k = len(st.numbers) + 1
		st.numbers[strings.Clone(item.Record.Namespace)] = k
	}
	return st.put(ctx, fmt.Sprintf("r:%d:%d", k, r.Seq), encodeRecord(place{st.thread, item.Record.Namespace}, r))
}

// message stores a message, which import.lua delivers.
func (st *stage) message(ctx context.Context, m *checkpoint.Message) error {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], m.Number)
	st.mail = append(st.mail, number[2:]...)
	field := ":" + strconv.FormatUint(m.Number, 10)
	if err := st.keep(ctx, "x"+field, encodeHeader(st.thread, m)); err != nil || m.Taken {
		return err
	}
	return st.keep(ctx, "y"+field, encodeBody(st.thread, m.Payload))
}

// put keeps a field of the version.
func (st *stage) put(ctx context.Context, field string, value any) error {
	return st.keep(ctx, st.prefix+field, value)
}

// keep keeps a field.
func (st *stage) keep(ctx context.Context, field string, value any) error {
	if len(st.batch) == 0 {
		st.batch = append(st.batch, stageFor)
	}
	st.batch = append(st.batch, field, value)
	if b, ok := value.([]byte); ok {
		st.size += len(b)
	}
	if st.size > fullBytes || len(st.batch) > 2000 {
		return st.flush(ctx)
	}
	return nil
}

// flush sends what was put.
func (st *stage) flush(ctx context.Context) error {
	if len(st.batch) == 0 {
		return nil
	}
	st.begun = true
	_, err := st.saver.call(ctx, "import", st.saver.script.stage, st.keys[1:], st.batch...)
	st.batch, st.size = nil, 0
	return err
}

// commit adds what makes the records a version, and makes that the thread's.
func (st *stage) commit(ctx context.Context) error {
	for namespace, k := range st.numbers {
		if err := st.log(ctx, namespace, k); err != nil {
			return err
		}
	}
	if err := st.writes(ctx); err != nil {
		return err
	}
	fields := []struct {
		name  string
		value any
	}{
		{"uid", st.uid[:]}, {"status", int(st.intake.Thread.Status)}, {"updated", micro(st.intake.Thread.Updated)},
		{"ended", "1"}, {"until", "0"}, {"rev", "1"},
	}
	if n := len(st.numbers); n > 0 {
		fields = append(fields, struct {
			name  string
			value any
		}{"nk", n})
	}
	for _, f := range fields {
		if err := st.put(ctx, f.name, f.value); err != nil {
			return err
		}
	}
	if len(st.mail) > 0 {
		if err := st.keep(ctx, "xs", st.mail); err != nil {
			return err
		}
	}
	if err := st.flush(ctx); err != nil {
		return err
	}
	t := &st.intake.Thread
	var made any = ""
	if !t.Created.IsZero() {
		made = micro(t.Created)
	}
	args := []any{
		strings.TrimSuffix(st.prefix, ":"), st.uid[:], st.thread, st.saver.ttl,
		made, t.Graph, t.Title, encodeLabels(t.Labels), strconv.FormatUint(t.Posted, 10), "", int(t.Priority.Or(checkpoint.Normal)),
	}
	if err := st.saver.list(ctx, st.thread, st.uid, true, st.saver.setsOf(t.Graph, t.Labels)...); err != nil {
		return err
	}
	r, err := st.saver.call(ctx, "import", st.saver.script.importing, st.keys, args...)
	if err == nil && r.announce() { // a thread that is due moves to another queue
		name := r.text()
		args[9] = "n=" + name
		if err := st.saver.listDue(ctx, st.thread, st.uid, name); err != nil {
			return err
		}
		r, err = st.saver.call(ctx, "import", st.saver.script.importing, st.keys, args...)
	}
	if err != nil {
		return err
	}
	switch outcome := r.text(); outcome {
	case "ok":
		st.saver.created(st.thread, st.uid, r.number())
		return r.err
	case "labels":
		return tooManyLabels("thread.Labels", r)
	case "gone":
		return fmt.Errorf("redis: import: thread %q: the received items were dropped, because no more came for an hour; import the thread again", short(st.thread))
	default:
		return st.saver.refused(&checkpoint.Append{Thread: st.thread}, outcome, r)
	}
}

// log stores the data of a log except its records.
func (st *stage) log(ctx context.Context, namespace string, k int) error {
	log, err := st.ledger.Log(namespace, checkpoint.ID{})
	if err != nil {
		return err
	}
	seqs := make([]uint64, len(log))
	snap := uint64(0)
	for i, e := range log {
		seqs[i] = e.Seq
		if e.Snapshot {
			snap = e.Seq
		}
		done := ""
		if st.commits[e.ID] {
			done = ":c"
		}
		value := fmt.Appendf(e.Base[:len(e.Base):len(e.Base)], "%d:%d:%d%s", k, e.Seq, snap, done)
		if err := st.put(ctx, "i:"+string(e.ID[:]), value); err != nil {
			return err
		}
	}
	kept, first := split(seqs)
	last := log[len(log)-1]
	value := fmt.Appendf(last.ID[:len(last.ID):len(last.ID)], "%d:%d:%d:%d:%d:%d", k, last.Seq, snap, first, last.Step, len(log))
	if err := st.put(ctx, "n:"+namespace, value); err != nil {
		return err
	}
	if err := st.put(ctx, fmt.Sprintf("g:%d", k), formatSeqs(kept)); err != nil {
		return err
	}
	return st.put(ctx, fmt.Sprintf("N:%d", k), namespace)
}

// writes puts the pending writes, each in its base's next slot.
func (st *stage) writes(ctx context.Context) error {
	slots := make(map[checkpoint.ID]int)
	var bases []byte
	all := append(st.ledger.Schemas(), st.ledger.Writes()...)
	for i := range all {
		w := &all[i]
		if slots[w.Base]++; slots[w.Base] == 1 {
			bases = append(bases, w.Base[:]...)
		}
		name, base := writeName(w, w.Kind), string(w.Base[:])
		value := append(fmt.Appendf(nil, "%d:%d:", i+1, slots[w.Base]), encodeWrite(st.thread, w)...)
		if err := st.put(ctx, "w:"+base+string(name), value); err != nil {
			return err
		}
		if err := st.put(ctx, "s:"+base+strconv.Itoa(slots[w.Base]), name); err != nil {
			return err
		}
	}
	for base, n := range slots {
		if err := st.put(ctx, "p:"+string(base[:]), n); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := st.put(ctx, "ws", len(all)); err != nil {
		return err
	}
	return st.put(ctx, "bases", bases)
}

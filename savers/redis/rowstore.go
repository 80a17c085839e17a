package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// format is the format of the keys of threads. Releases before it had the formats to 8 in their
// records.
const (
	format    = "9"
	oldFormat = "8"
)

// rowStore is a rows.Store on the keys with a prefix.
type rowStore struct {
	packing pack.Policy
	*server
	prefix  string
	ttl     time.Duration
	cluster bool // the keys are on several servers, so a script has those of one slot
	script  scripts
	index   [indexKeys]string
	items   string // the key of all rows of items

	searches sync.Map      // the vector indexes that have vector sets
	newest   atomic.Uint64 // the greatest revision that it gave
}

var _ rows.Store = (*rowStore)(nil)

// The keys of the index, in one slot, which no thread is in by its name.
const (
	rowsKey = iota
	placedKey
	notesKey
	indexKeys
)

// Packing returns when a saver on the rows packs records. It is zero but in tests.
func (s *rowStore) Packing() pack.Policy { return s.packing }

// newRowStore returns a store of rows whose keys on the server begin with prefix.
func newRowStore(s *server, prefix string, ttl time.Duration) *rowStore {
	tag := prefix + "{%}"
	return &rowStore{server: s, prefix: prefix, ttl: ttl, script: newScripts(), index: [...]string{rowsKey: tag + "rows", placedKey: tag + "placed", notesKey: tag + "notes"}, items: prefix + "{" + prefix + "items}:rows"}
}

// open checks the format of the keys, and looks whether a script can have keys of several slots.
func (s *rowStore) open(ctx context.Context) error {
	_, s.cluster = s.client.(*goredis.ClusterClient)
	if !s.cluster { // one node of a cluster, or a proxy before several servers
		err := s.client.Eval(ctx, "return 1", []string{s.prefix + "{a}", s.prefix + "{b}"}).Err()
		s.cluster = goredis.HasErrorPrefix(err, "CROSSSLOT")
	}
	key := s.prefix + "{%}format"
	found, err := s.client.Get(ctx, key).Result()
	switch {
	case err == nil && found == format:
		return s.begins(ctx)
	case errors.Is(err, goredis.Nil):
		old, err := s.client.Exists(ctx, s.prefix+"{index}:all").Result()
		if err != nil {
			return err
		}
		if found = oldFormat; old == 0 {
			const begin = "if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then redis.call('ZADD', KEYS[2], 0, ARGV[2]) end return 1"
			err := s.client.Eval(ctx, begin, []string{key, s.index[rowsKey]}, format, whole).Err()
			if err != nil && !cannotWrite(err) {
				return err
			}
			return s.begins(ctx)
		}
	case err != nil:
		return err
	}
	return fmt.Errorf("the threads with the prefix %q have format %s, and this release reads format %s; use another prefix", s.prefix, found, format)
}

// begins notes on a cluster when the index is compared with all threads.
func (s *rowStore) begins(ctx context.Context) error {
	if !s.cluster {
		return nil
	}
	if _, err := s.compareAt(ctx, true); err != nil && !cannotWrite(err) {
		return err
	}
	return nil
}

// cannotWrite reports whether a server can only be read, now or at all.
func cannotWrite(err error) bool {
	return goredis.HasErrorPrefix(err, "READONLY") || goredis.HasErrorPrefix(err, "OOM")
}

// request collects the keys and the arguments of a script.
type request struct {
	keys []string
	at   map[string]int
	args []any
}

// newRequest returns a request that uses keys.
func newRequest(keys ...string) *request {
	r := &request{at: make(map[string]int, 2)}
	for _, k := range keys {
		r.key(k)
	}
	return r
}

// key returns how the arguments name a key.
func (r *request) key(k string) int {
	n, found := r.at[k]
	if !found {
		r.keys = append(r.keys, k)
		n = len(r.keys)
		r.at[k] = n
	}
	return n
}

// add adds arguments to the request.
func (r *request) add(args ...any) { r.args = append(r.args, args...) }

// appendList appends a list as scripts read it.
func appendList[T any](args []any, all []T) []any {
	args = append(args, len(all))
	for _, m := range all {
		args = append(args, m)
	}
	return args
}

// keyOf returns the key that has a row.
func (s *rowStore) keyOf(k *rows.Key) string {
	switch {
	case ofItems(k.Table):
		return s.items
	case k.Thread == "":
		return s.index[rowsKey]
	}
	return threadKey(s.prefix, k.Thread)
}

// reads adds ranges to a request.
func (s *rowStore) reads(r *request, ranges []rows.Range) {
	r.add(len(ranges))
	for i := range ranges {
		q := &ranges[i]
		limit, how := -1, 0
		if q.Limit > 0 {
			limit = q.Limit
		}
		switch {
		case q.Reverse:
			how = 1
		case q.Items > 0:
			how = 1 + len(appendKey(nil, q.Table, q.Bytes[:q.Items]))
		}
		b := boundsOf(q)
		r.add(r.key(s.keyOf(&q.Key)), b.from, b.to, limit, how)
	}
}

// eval runs a script once, without the client's own repetitions.
func (s *rowStore) eval(ctx context.Context, script *goredis.Script, keys []string, args []any) ([]any, error) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", script.Hash(), len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	all = append(all, args...)
	run := func() ([]any, error) {
		cmd := goredis.NewCmd(ctx, all...)
		cmd.SetFirstKeyPos(3)
		_ = s.client.Process(ctx, sentOnce{cmd}) // the command keeps the error
		return cmd.Slice()
	}
	v, err := run()
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = s.load(ctx, script, keys[0]); err == nil {
			v, err = run()
		}
	}
	if err != nil {
		return nil, damaged(s.sized(ctx, err, args))
	}
	return v, nil
}

// load sends a script to the server that has a key.
func (s *server) load(ctx context.Context, script *goredis.Script, key string) error {
	if cluster, ok := s.client.(*goredis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return err
		}
		return script.Load(ctx, node).Err()
	}
	return script.Load(ctx, s.client).Err()
}

// Read returns the rows of ranges. If it reads the index, it first mends what calls have left
// behind that ended in between.
func (s *rowStore) Read(ctx context.Context, ranges ...rows.Range) (all [][]rows.Row, now time.Time, err error) {
	all = make([][]rows.Row, len(ranges))
	parts := s.parts(ranges)
	for mended := false; ; mended = true {
		work, at, err := s.readParts(ctx, parts, ranges, all)
		if err != nil || work.none() || mended {
			return all, at, err
		}
		if err := s.mend(ctx, work); goredis.HasErrorPrefix(err, "READONLY") {
			return all, at, nil // a replica can be read, but not mended
		} else if err != nil {
			return nil, at, err
		}
	}
}

// part is the part of a Read that one script does: the ranges with these numbers.
type part struct {
	index bool // it reads the index
	which []int
}

// parts divides ranges into those that one script can read.
func (s *rowStore) parts(ranges []rows.Range) []part {
	var all []part
	at := make(map[string]int)
	for i := range ranges {
		slot := ""
		if s.cluster {
			slot = s.keyOf(&ranges[i].Key)
		}
		n, found := at[slot]
		if !found {
			n = len(all)
			at[slot] = n
			all = append(all, part{})
		}
		all[n].which = append(all[n].which, i)
		all[n].index = all[n].index || inIndex(&ranges[i].Key)
	}
	if len(all) == 0 {
		all = []part{{}}
	}
	return all
}

// readParts reads the ranges of parts in one round trip. It returns what may be wrong with the
// index, and the least time, because servers have different clocks.
func (s *rowStore) readParts(ctx context.Context, parts []part, ranges []rows.Range, all [][]rows.Row) (work mending, now time.Time, err error) {
	requests := make([]*request, len(parts))
	for i := range parts {
		requests[i] = s.readRequest(&parts[i], ranges)
	}
	replies, err := do(ctx, s.server, func(ctx context.Context, _ int) ([][]any, error) { return s.evalAll(ctx, s.script.read, requests) })
	if err != nil {
		return work, now, err
	}
	for i, v := range replies {
		in, p := &reply{values: v}, &parts[i]
		if at := in.clock(); now.IsZero() || at.Before(now) {
			now = at
		}
		for k, read := range readRows(in, p.of(ranges)) {
			q := &ranges[p.which[k]]
			if q.Table == rows.Threads && q.Thread == "" && in.err == nil {
				if read, err = s.named(ctx, q, read); err != nil {
					return work, now, err
				}
			}
			all[p.which[k]] = read
		}
		if p.index {
			work = readMending(in.list(), now)
		}
		if in.err != nil {
			return work, now, in.err
		}
	}
	return work, now, nil
}

// of returns the ranges of a part.
func (p *part) of(ranges []rows.Range) []rows.Range {
	some := make([]rows.Range, len(p.which))
	for i, n := range p.which {
		some[i] = ranges[n]
	}
	return some
}

// readRequest returns the arguments of the script that reads a part.
func (s *rowStore) readRequest(p *part, ranges []rows.Range) *request {
	r := newRequest()
	if p.index || len(p.which) == 0 {
		r = newRequest(s.index[:]...)
	}
	s.reads(r, p.of(ranges))
	if p.index {
		r.add(1, noteTime.Microseconds(), mostMended)
	} else {
		r.add(0)
	}
	return r
}

// evalAll runs a script that reads, with the keys and arguments of each request, in one round trip
// to each server.
func (s *rowStore) evalAll(ctx context.Context, script *goredis.Script, all []*request) ([][]any, error) {
	replies := make([][]any, len(all))
	if len(all) == 1 {
		v, err := s.eval(ctx, script, all[0].keys, all[0].args)
		replies[0] = v
		return replies, err
	}
	pipe := s.client.Pipeline()
	commands := make([]*goredis.Cmd, len(all))
	for i, r := range all {
		commands[i] = pipe.EvalSha(ctx, script.Hash(), r.keys, r.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	for i, r := range all {
		v, err := commands[i].Slice()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			v, err = s.eval(ctx, script, r.keys, r.args)
		}
		if err != nil {
			return nil, damaged(err)
		}
		replies[i] = v
	}
	return replies, nil
}

// clock reads the time of the server.
func (r *reply) clock() time.Time { return codec.Time(r.number()*1e6 + r.number()) }

// readRows reads the rows of ranges. Those of the index have no value.
func readRows(in *reply, ranges []rows.Range) [][]rows.Row {
	all := make([][]rows.Row, len(ranges))
	for i := range ranges {
		q := &ranges[i]
		if _, isDamaged := in.peek().(int64); isDamaged {
			in.next()
			all[i] = []rows.Row{{Key: q.Bytes, Rev: 1, Value: nil}}
			continue
		}
		l := in.list()
		for l.more() {
			m := l.text()
			row := rows.Row{Key: []byte(m[min(1, len(m)):])}
			if !inIndex(&q.Key) {
				var err error
				row, err = parseMember(m)
				l.check(err)
			}
			all[i] = append(all[i], row)
		}
		in.join(l)
	}
	return all
}

// named returns the rows of threads that a range selects, given the rows of the index. The index
// may have threads that are gone.
func (s *rowStore) named(ctx context.Context, q *rows.Range, found []rows.Row) (all []rows.Row, err error) {
	rest := *q
	for {
		points := make([]rows.Range, len(found))
		for i := range found {
			points[i].Key = rows.Key{Table: rows.Threads, Thread: string(found[i].Key), Bytes: found[i].Key}
		}
		if len(points) > 0 {
			read, _, err := s.Read(ctx, points...)
			if err != nil {
				return nil, err
			}
			for _, row := range read {
				all = append(all, row...)
			}
		}
		if q.Limit == 0 || len(found) < rest.Limit || len(all) >= q.Limit {
			return all, nil
		}
		rest.Limit = q.Limit - len(all)
		if q.Reverse {
			rest.To = found[len(found)-1].Key
		} else {
			rest.Bytes = append(found[len(found)-1].Key, 0)
		}
		r := newRequest(s.index[:]...)
		s.reads(r, []rows.Range{rest})
		r.add(0)
		v, err := do(ctx, s.server, func(ctx context.Context, _ int) ([]any, error) { return s.eval(ctx, s.script.read, r.keys, r.args) })
		if err != nil {
			return nil, err
		}
		in := &reply{values: v}
		in.clock()
		if found = readRows(in, []rows.Range{rest})[0]; in.err != nil {
			return nil, in.err
		}
	}
}

// Apply stores c. On a cluster it stores the parts of several threads one by one.
func (s *rowStore) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	rev = s.rev(c)
	if s.cluster && !ofItems(c.Checks[0].Table) {
		read, err = s.applyApart(ctx, c, rev)
	} else {
		read, err = s.applyScript(ctx, c, rev, 0)
	}
	return rev, read, err
}

// rev returns the revision for a change, which no other change leaves. That of a new thread is
// greater than all that s gave, because the thread may have been there before.
func (s *rowStore) rev(c *rows.Change) uint64 {
	rev := c.Rev(time.Now()) + rand.Uint64N(1<<20)
	isNew := slices.ContainsFunc(c.Checks, func(k rows.Check) bool { return k.Rev == 0 })
	for {
		newest := s.newest.Load()
		if isNew {
			rev = max(rev, newest+1)
		}
		if rev <= newest || s.newest.CompareAndSwap(newest, rev) {
			return rev
		}
	}
}

// applyScript stores c by one script. deadline is the time of the server after which it must not,
// in microseconds; 0 is none. If an attempt has no answer, and the rows have changed since, nobody
// knows whether it was the attempt that changed them first.
func (s *rowStore) applyScript(ctx context.Context, c *rows.Change, rev uint64, deadline int64) ([][]rows.Row, error) {
	unknown := false
	v, err := do(ctx, s.server, func(ctx context.Context, attempt int) ([]any, error) {
		r := s.request(c, rev, deadline, attempt)
		v, err := s.eval(ctx, s.script.apply, r.keys, r.args)
		unknown = unknown || !definite(err)
		return v, err
	})
	if err != nil {
		return nil, err
	}
	in := &reply{values: v}
	switch outcome := in.text(); {
	case outcome == "ok" || in.err != nil:
	case unknown && c.Once:
		return nil, fmt.Errorf("%w: a reply was lost, and others have changed the rows since", checkpoint.ErrUnavailable)
	default:
		return nil, fmt.Errorf("%w (%s)", rows.ErrChanged, outcome)
	}
	read := readRows(in, c.Reads)
	return read, in.err
}

// definite reports whether it is known what a command with an error did: the server has answered,
// or was not reached.
func definite(err error) bool {
	var reply goredis.Error
	var network *net.OpError
	return err == nil || errors.As(err, &reply) || errors.As(err, &network) && network.Op == "dial"
}

// request returns the arguments of the script for a change. An attempt after the first finds out
// whether an earlier one has made the change.
func (s *rowStore) request(c *rows.Change, rev uint64, deadline int64, attempt int) *request {
	r := newRequest()
	r.add(0) // where the writes begin
	s.conditions(r, c)
	r.add(deadline)
	if attempt == 0 {
		r.add(0)
	} else {
		s.leaves(r, c, rev)
	}
	s.reads(r, c.Reads)
	r.args[0] = len(r.args)
	s.writes(r, c, rev)
	return r
}

// leaves adds what shows that an earlier attempt has made a change: the revision of a thread, or
// that a thread is gone.
func (s *rowStore) leaves(r *request, c *rows.Change, rev uint64) {
	for i := range c.Puts {
		if p := &c.Puts[i]; p.Table.Revised() {
			b := boundsOfRev(from(placeOf(p.Table, p.Bytes)), rev)
			r.add(1, r.key(s.keyOf(&p.Key)), b.from, b.to, 1)
			return
		}
	}
	for i := range c.Deletes {
		if d := &c.Deletes[i]; d.Table.Revised() {
			b := boundsOf(d)
			r.add(1, r.key(s.keyOf(&d.Key)), b.from, b.to, 0)
			return
		}
	}
	r.add(0)
}

// boundsOfRev returns the bounds of the row of a thread with a revision, in those of the thread.
func boundsOfRev(b bounds, rev uint64) bounds {
	p := b.from[:len(b.from):len(b.from)]
	to := append([]byte{'('}, p[1:]...)
	return bounds{binary.BigEndian.AppendUint64(p, rev), binary.BigEndian.AppendUint64(to, rev+1)}
}

// conditions adds the conditions of a change: of its checks, and of its puts that are New.
func (s *rowStore) conditions(r *request, c *rows.Change) {
	n := len(c.Checks)
	for i := range c.Puts {
		if c.Puts[i].New {
			n++
		}
	}
	r.add(n)
	for i := range c.Checks {
		k := &c.Checks[i]
		b, want := from(placeOf(k.Table, []byte(k.Thread))), 0
		if k.Rev != 0 {
			b, want = boundsOfRev(b, k.Rev), 1
		}
		r.add(r.key(s.keyOf(&rows.Key{Table: k.Table, Thread: k.Thread})), b.from, b.to, want)
	}
	for i := range c.Puts {
		if p := &c.Puts[i]; p.New {
			b := from(placeOf(p.Table, p.Bytes))
			r.add(r.key(s.keyOf(&p.Key)), b.from, b.to, 0)
		}
	}
}

// writes adds what a change writes. On a cluster a change has no rows of the index.
func (s *rowStore) writes(r *request, c *rows.Change, rev uint64) {
	index := [3]int{} // where the keys of the index are, if the change has it
	if !s.cluster && !ofItems(c.Checks[0].Table) {
		for i, k := range s.index {
			index[i] = r.key(k)
		}
	}
	begins := newThreads(c)
	if s.cluster {
		begins = nil
	}
	r.add(len(begins))
	for _, id := range begins {
		r.add(index[rowsKey], index[placedKey], index[notesKey], id)
	}
	var gone []any
	n := 0
	remove := func(key int, b bounds) { gone, n = append(gone, key, b.from, b.to), n+1 }
	for i := range c.Deletes {
		d := &c.Deletes[i]
		remove(r.key(s.keyOf(&d.Key)), boundsOf(d))
		if d.Table == rows.Threads && !s.cluster {
			remove(index[rowsKey], boundsOf(&rows.Range{Key: rows.Key{Table: rows.Threads, Bytes: d.Bytes}}))
		}
	}
	var members []any
	for i := range c.Puts {
		p := &c.Puts[i]
		if inIndex(&p.Key) {
			members = append(members, index[rowsKey], indexMember(p.Table, p.Bytes))
			continue
		}
		key, place := r.key(s.keyOf(&p.Key)), placeOf(p.Table, p.Bytes)
		if !p.New {
			remove(key, from(place))
		}
		if p.Table.Revised() {
			place = binary.BigEndian.AppendUint64(place, rev)
			if p.Table == rows.Threads && !s.cluster && isNew(c, p.Thread) {
				members = append(members, index[rowsKey], indexMember(rows.Threads, p.Bytes))
			}
		}
		members = append(members, key, append(place, p.Value...))
	}
	r.add(n)
	r.add(gone...)
	r.add(len(members) / 2)
	r.add(members...)
	s.expiries(r, c, index)
	s.vectors(r, c)
	s.publishes(r, c)
}

// expiries adds when the threads that a change stores expire.
func (s *rowStore) expiries(r *request, c *rows.Change, index [3]int) {
	var keys, noted []any
	n := 0
	for i := range c.Puts {
		p := &c.Puts[i]
		if p.Table != rows.Threads {
			continue
		}
		places, ms := s.standing(p)
		keys = append(keys, r.key(s.keyOf(&p.Key)), ms)
		if ms > 0 && !s.cluster {
			n++
			noted = append(noted, index[placedKey], index[notesKey], p.Thread, ms)
			noted = appendList(noted, places)
		}
	}
	r.add(len(keys) / 2)
	r.add(keys...)
	r.add(n)
	r.add(noted...)
}

// standing returns the members of the index for a row of a thread, and when the thread expires, in
// milliseconds from now; 0 is never.
func (s *rowStore) standing(p *rows.Put) (places [][]byte, expiry int64) {
	st, err := (&rows.Row{Key: p.Bytes, Value: p.Value}).Standing()
	if err != nil { // no Saver puts such a row
		return nil, 0
	}
	return s.placesOf(p.Thread, &st)
}

// placesOf returns the index members that stand for a thread, and how long it is kept after its
// end; 0 for ever.
func (s *rowStore) placesOf(thread string, st *rows.Standing) (places [][]byte, expiry int64) {
	places = append(places, indexMember(rows.Threads, []byte(thread)))
	for _, k := range st.Index {
		places = append(places, indexMember(rows.Index, k))
	}
	if st.Over {
		expiry = s.ttl.Milliseconds()
	}
	return places, expiry
}

// isNew reports whether a change makes a thread, or finds none.
func isNew(c *rows.Change, thread string) bool {
	for i := range c.Checks {
		if c.Checks[i].Thread == thread {
			return c.Checks[i].Rev == 0
		}
	}
	return false
}

// newThreads returns the threads that a change makes or removes.
func newThreads(c *rows.Change) (ids []string) {
	for i := range c.Checks {
		if c.Checks[i].Rev == 0 && c.Checks[i].Table == rows.Threads {
			ids = append(ids, c.Checks[i].Thread)
		}
	}
	for i := range c.Deletes {
		if d := &c.Deletes[i]; d.Table == rows.Threads {
			ids = append(ids, d.Thread)
		}
	}
	return ids
}

// Close waits for the calls in progress.
func (s *rowStore) Close() error { return s.close() }

// revText is a revision as the scripts of the index compare them.
func revText(rev uint64) string { return fmt.Sprintf("%020d", rev) }

package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"strconv"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// Store returns the store on the server: typed memory across threads, for package store. It uses
// the client of the saver, and its Close leaves the client open.
//
// A batch is one script and one round trip. All keys of a store are in one slot of a cluster. So
// a batch is atomic whatever namespaces it writes. One node serves the whole store. Savers with
// other prefixes have stores in other slots.
//
// A write whose reply was lost is not sent again: it fails with store.ErrUnavailable.
//
// On Redis 8 it searches by meaning with vector sets.
func (s *Saver) Store() store.Backend {
	tag := s.prefix + "{" + s.prefix + "store}:"
	t := &itemStore{s: s}
	for _, name := range [...]string{
		headKey: "head", itemsKey: "items", metaKey: "meta", valueKey: "value", indexKey: "index", valuesKey: "values",
		expiresKey: "expires", onceKey: "once", usedKey: "used", vectorsKey: "vectors", specsKey: "specs",
		changesChannel: "changes", wordsKey: "words", textsKey: "texts",
	} {
		t.keys = append(t.keys, tag+name)
	}
	return t
}

// The places of keys in itemStore.keys. The scripts count them from 1.
const (
	headKey = iota
	itemsKey
	metaKey
	valueKey
	indexKey
	valuesKey
	expiresKey
	onceKey
	usedKey
	vectorsKey
	specsKey
	changesChannel // not a key, but the channel of notifications
	wordsKey
	textsKey
)

// itemStore is a store.Backend on the client of a saver. lua/store.lua describes its keys.
type itemStore struct {
	s      *Saver
	keys   []string
	closed atomic.Bool
}

var _ store.Backend = (*itemStore)(nil)

// Close ends the use of the store.
func (t *itemStore) Close() error {
	t.closed.Store(true)
	return nil
}

// itemPlace returns the bytes by which the scripts know an item.
func itemPlace(n store.Namespace, key string) string {
	return string(append(append(n.Append(nil), 0, 0), key...))
}

// form returns the bytes of an index entry, without the end of the value if open is true.
func form(index string, value []byte, open bool) string {
	b := store.AppendPart(store.AppendPart(nil, index), string(value))
	if open {
		b = b[:len(b)-2]
	}
	return string(b)
}

// forms returns the index entries as the scripts keep them.
func forms(entries []store.Entry) string {
	var b []byte
	for _, e := range entries {
		f := form(e.Index, e.Value, false)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(f))), f...)
	}
	return string(b)
}

// valueSum is the checksum of a value and its place.
func valueSum(place string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum(binary.AppendUvarint(nil, uint64(len(place))), table)
	return crc32.Update(crc32.Update(sum, table, []byte(place)), table, value)
}

// Do runs operations as one.
func (t *itemStore) Do(ctx context.Context, ops []store.Op) ([]store.Result, error) {
	if err := store.CheckOps(ops); err != nil {
		return nil, err
	}
	args := make([]any, 0, 7*len(ops))
	writes := false
	for i := range ops {
		args = appendOp(args, &ops[i])
		writes = writes || ops[i].Kind != store.OpGet && ops[i].Kind != store.OpVectors
	}
	r, err := t.call(ctx, "do", t.s.script.storeDo, writes, args)
	if err != nil {
		return nil, err
	}
	if r.values[0] == "conflict" {
		return nil, t.conflict(ops, r)
	}
	results := make([]store.Result, len(ops))
	for i := range ops {
		results[i], err = r.result(&ops[i])
		if err != nil {
			return nil, t.wrap(ctx, "do", err)
		}
	}
	return results, nil
}

// conflict returns the error of a batch whose condition does not hold.
func (t *itemStore) conflict(ops []store.Op, r *reply) error {
	i, found := r.int(), r.number()
	if r.err != nil || i < 0 || i >= len(ops) {
		return fmt.Errorf("redis: do: an answer about operation %d of %d: %w", i, len(ops), errors.Join(store.ErrDamaged, r.err))
	}
	op := &ops[i]
	return &store.ConflictError{Namespace: slices.Clone(op.Namespace), Key: op.Key, Want: op.IfVersion, Found: found}
}

// appendOp appends the arguments for an operation.
func appendOp(args []any, op *store.Op) []any {
	at, once, condition := itemPlace(op.Namespace, op.Key), "", ""
	if op.Once != "" {
		once = strconv.Itoa(len(at)) + " " + at + op.Once
	}
	switch {
	case op.IfAbsent:
		condition = "a"
	case op.IfVersion != 0:
		condition = strconv.FormatInt(op.IfVersion, 10)
	}
	switch {
	case op.Kind == store.OpPut:
		value := binary.LittleEndian.AppendUint32(slices.Clip(op.Value), valueSum(at, op.Value))
		return append(args, "p", at, once, condition, value, expiry(op), forms(op.Index), vectorBytes(op.Vectors), textBytes(op.Texts))
	case op.Kind == store.OpIndex:
		return append(args, "i", at, once, condition, forms(op.Index), vectorBytes(op.Vectors), textBytes(op.Texts))
	case op.Kind == store.OpVectors:
		return append(args, "v", at, once, condition)
	case op.Kind == store.OpDelete:
		return append(args, "d", at, once, condition)
	case op.Refresh:
		return append(args, "r", at, once, condition)
	}
	return append(args, "g", at, once, condition)
}

// expiry returns the end of an item's life as store_do.lua has it.
func expiry(op *store.Op) string {
	switch {
	case op.TTL > 0:
		return "t" + strconv.FormatInt(op.TTL.Microseconds(), 10)
	case !op.ExpireAt.IsZero():
		return "e" + strconv.FormatInt(max(op.ExpireAt.UnixMicro(), 1), 10)
	case op.KeepExpiry:
		return "k"
	}
	return ""
}

// result reads the result of an operation.
func (r *reply) result(op *store.Op) (store.Result, error) {
	result := store.Result{Found: r.text() == "1", Repeated: r.text() == "1"}
	if op.Kind == store.OpVectors {
		return r.vectors(op)
	}
	at := itemPlace(op.Namespace, op.Key)
	read := op.Kind == store.OpGet && result.Found
	record, err := r.record(at, read)
	record.Namespace, record.Key = slices.Clone(op.Namespace), op.Key
	result.Record = record
	return result, err
}

// record reads what is stored of an item, without its place.
func (r *reply) record(at string, read bool) (store.Record, error) {
	record := store.Record{Version: r.number(), Created: r.time(), Updated: r.time(), Expires: r.time()}
	value := []byte(r.text())
	if r.err != nil || !read {
		return record, r.err
	}
	n := len(value) - 4
	if n < 0 || binary.LittleEndian.Uint32(value[n:]) != valueSum(at, value[:n]) {
		return record, fmt.Errorf("the item at %q: %w: its checksum is wrong; write or delete it", at, store.ErrDamaged)
	}
	record.Value = value[:n:n]
	return record, nil
}

// Sweep removes expired items, and forgets writes that ran once.
func (t *itemStore) Sweep(ctx context.Context, limit int) (int, error) {
	r, err := t.call(ctx, "sweep", t.s.script.storeSweep, true, []any{limit, store.OnceFor.Microseconds()})
	if err != nil {
		return 0, err
	}
	n := r.int()
	return n, t.wrap(ctx, "sweep", r.err)
}

// call runs a script of the store. It does not send a write again whose outcome is unknown.
func (t *itemStore) call(ctx context.Context, what string, script *goredis.Script, writes bool, args []any) (*reply, error) {
	if t.closed.Load() {
		return nil, fmt.Errorf("redis: %s: %w", what, store.ErrClosed)
	}
	r, err := t.asked(ctx, what, func(ctx context.Context) (*reply, error) {
		v, err := t.run(ctx, script, writes, args)
		return &reply{values: v}, err
	})
	if err != nil {
		return nil, t.wrap(ctx, what, err)
	}
	switch outcome := r.text(); outcome {
	case "ok", "conflict":
		return r, nil
	case "format":
		return nil, fmt.Errorf("redis: %s: the store %q has format %s, and this release reads format %s; use another prefix",
			what, t.keys[headKey], r.text(), r.text())
	default:
		r.fail("the outcome %q", outcome)
		return nil, t.wrap(ctx, what, r.err)
	}
}

// asked calls ask, again if the server is unavailable for now. what names the call in errors.
func (t *itemStore) asked(ctx context.Context, what string, ask func(ctx context.Context) (*reply, error)) (*reply, error) {
	r, err := do(ctx, t.s.server, func(ctx context.Context, _ int) (*reply, error) { return ask(ctx) })
	if err != nil {
		return nil, fmt.Errorf("redis: %s: %w", what, err)
	}
	return r, nil
}

// run runs a script, which it sends only if the server does not have it.
func (t *itemStore) run(ctx context.Context, script *goredis.Script, writes bool, args []any) ([]any, error) {
	v, err := t.eval(ctx, writes, "evalsha", script.Hash(), args)
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = t.load(ctx, script); err == nil {
			v, err = t.eval(ctx, writes, "evalsha", script.Hash(), args)
		}
	}
	var dial *net.OpError
	switch sent := !errors.As(err, &dial) || dial.Op != "dial"; {
	case err == nil:
		return v, nil
	case writes && sent && transient(err) && !answered(err):
		return nil, &unknownError{err}
	}
	return nil, damaged(err)
}

// load sends a script to the node of the store.
func (t *itemStore) load(ctx context.Context, script *goredis.Script) error {
	if cluster, ok := t.s.server.client.(*goredis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, t.keys[headKey])
		if err != nil {
			return err
		}
		return script.Load(ctx, node).Err()
	}
	return script.Load(ctx, t.s.server.client).Err()
}

// eval calls a script with the keys of the store. writes says whether the script changes
// something.
func (t *itemStore) eval(ctx context.Context, writes bool, command, script string, args []any) ([]any, error) {
	all := make([]any, 0, 3+len(t.keys)+len(args))
	all = append(all, command, script, len(t.keys))
	for _, key := range t.keys {
		all = append(all, key)
	}
	cmd := goredis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	if !writes {
		_ = t.s.server.client.Process(ctx, cmd) // the command keeps the error
		return cmd.Slice()
	}
	_ = t.s.server.client.Process(ctx, sentOnce{cmd})
	return cmd.Slice()
}

// sentOnce is a command that the client does not send again.
type sentOnce struct{ *goredis.Cmd }

// NoRetry returns true.
func (sentOnce) NoRetry() bool { return true }

// answered reports whether err is a reply of the server, which has not run the script then.
func answered(err error) bool {
	var reply goredis.Error
	return errors.As(err, &reply)
}

// unknownError is the error of a write that may be stored. It hides the cause, so that the saver
// does not call again.
type unknownError struct{ err error }

func (e *unknownError) Error() string { return e.err.Error() }

// wrap gives an error the kinds of package store.
func (t *itemStore) wrap(ctx context.Context, what string, err error) error {
	var unknown *unknownError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("redis: %s: %w: %w", what, ctx.Err(), err)
	case errors.As(err, &unknown), errors.Is(err, checkpoint.ErrUnavailable):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case errors.Is(err, checkpoint.ErrClosed):
		return fmt.Errorf("%w: %w", store.ErrClosed, err)
	case errors.Is(err, checkpoint.ErrDamaged):
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// budget is how many items a script looks at before the server does other work.
const budget = 2000

// Namespaces returns the namespaces that q selects, with one seek for each.
func (t *itemStore) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	limit, depth := store.MaxPage, 0
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	if len(q.Suffix) == 0 && len(q.Prefix) <= q.Depth {
		depth = q.Depth // the parts below do not matter
	}
	from, to := members("", q.Literal())
	if after := past(&q, q.After); len(q.After) > 0 && after > from[1:] {
		from = "[" + after
	}
	var found []store.Namespace
	for len(found) < limit {
		r, err := t.call(ctx, "namespaces", t.s.script.storeNamespaces, false, []any{from, to, depth, limit - len(found), budget})
		if err != nil {
			return nil, err
		}
		next := r.text()
		for r.more() {
			n, err := store.ParseNamespace([]byte(r.text()))
			if err != nil {
				return nil, t.wrap(ctx, "namespaces", err)
			}
			if !q.Matches(n) {
				continue
			}
			if n = q.Cut(n); len(found) == 0 || !slices.Equal(n, found[len(found)-1]) {
				found = append(found, n)
			}
		}
		if next == "" || r.err != nil {
			return found, t.wrap(ctx, "namespaces", r.err)
		}
		from = next
	}
	return found, nil
}

// past returns the least bytes that sort after all places of namespaces that q cuts to n.
func past(q *store.NamespaceQuery, n store.Namespace) string {
	b := n.Append(nil)
	if q.Depth > 0 && len(n) >= q.Depth {
		b = n[:q.Depth].Append(nil)
		b[len(b)-1]++ // 00 01 ends the last part
		return string(b)
	}
	return string(append(b, 0, 1))
}

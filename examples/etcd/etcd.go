// Package etcd keeps threads in etcd. It is an example of a backend, which docs/backends.md
// explains: a rows.Store, over which package rows makes a saver.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"localhost:2379"}, MaxCallSendMsgSize: 64 << 20})
//	saver := rows.New("etcd", etcd.New(client, "graphgen/"), rows.Options{})
//
// The server needs higher limits than its defaults, and must forget old revisions of keys:
//
//	etcd --max-txn-ops=100000 --max-request-bytes=67108864 --auto-compaction-retention=1h
package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// Store is a rows.Store in etcd. A row is a key of etcd: the prefix of the Store, a byte for the
// table, and the key of the row. The revision of a row is its ModRevision, which etcd never uses
// again.
//
// etcd has no clock that clients can read, so the time of a Store is that of its machine. Keep the
// clocks of all machines together by NTP. If a clock is fast by a second, its process can take
// over a thread a second before the lease of a live run ends. Nothing is lost: the fence of the
// older run is void, and its next write fails. But nodes of one superstep may run twice.
//
// While no server answers, the client waits until the context of the call ends.
type Store struct {
	client *clientv3.Client
	prefix string
}

var _ rows.Store = (*Store)(nil)

// New returns a Store of the keys with a prefix, which must not be empty. All processes that share
// threads use the same prefix. The caller closes client, after the Saver.
func New(client *clientv3.Client, prefix string) *Store { return &Store{client, prefix} }

// key returns the key of a row in etcd.
func (s *Store) key(t rows.Table, key []byte) string {
	return s.prefix + string(rune('a'+t)) + string(key)
}

// gets returns the operations that read ranges at a revision of all keys; 0 is the newest.
func (s *Store) gets(ranges []rows.Range, rev int64) []clientv3.Op {
	ops := make([]clientv3.Op, len(ranges))
	for i := range ranges {
		r, opts := &ranges[i], []clientv3.OpOption{clientv3.WithRev(rev)}
		if r.To != nil {
			opts = append(opts, clientv3.WithRange(s.key(r.Table, r.To)), clientv3.WithLimit(int64(r.Limit)))
		}
		if r.Reverse {
			opts = append(opts, clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
		}
		ops[i] = clientv3.OpGet(s.key(r.Table, r.Bytes), opts...)
	}
	return ops
}

// rows returns the rows that the last n operations of a transaction read.
func (s *Store) rows(res *clientv3.TxnResponse, n int) [][]rows.Row {
	all := make([][]rows.Row, n)
	for i, got := range res.Responses[len(res.Responses)-n:] {
		for _, kv := range got.GetResponseRange().Kvs {
			all[i] = append(all[i], rows.Row{Key: kv.Key[len(s.prefix)+1:], Rev: uint64(kv.ModRevision), Value: kv.Value})
		}
	}
	return all
}

// Read returns the rows of ranges: a transaction without writes sees one revision of all keys.
func (s *Store) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	res, err := s.client.Txn(ctx).Then(s.gets(ranges, 0)...).Commit()
	if err != nil {
		return nil, time.Time{}, failed(err, 0)
	}
	all := s.rows(res, len(ranges))
	for i := range ranges {
		if ranges[i].Items == 0 {
			continue
		}
		if all[i], err = s.items(ctx, ranges[i], all[i], res.Header.Revision); err != nil {
			return nil, time.Time{}, failed(err, 0)
		}
	}
	return all, time.Now(), nil
}

// items returns the items that the rows of a range name, at the same revision. The rows named are
// the first ones of the range.
func (s *Store) items(ctx context.Context, r rows.Range, named []rows.Row, rev int64) (items []rows.Row, err error) {
	for len(named) > 0 {
		points := make([]rows.Range, len(named))
		for i := range named {
			points[i].Key = rows.Key{Table: rows.Items, Bytes: named[i].Key[r.Items:]}
		}
		res, err := s.client.Txn(ctx).Then(s.gets(points, rev)...).Commit()
		if err != nil {
			return nil, err
		}
		items = append(items, slices.Concat(s.rows(res, len(named))...)...)
		if r.Limit == 0 || len(named) < r.Limit || len(items) >= r.Limit {
			break
		}
		r.Bytes = append(named[len(named)-1].Key, 0) // items do not exist, so more rows are needed
		if res, err = s.client.Txn(ctx).Then(s.gets([]rows.Range{r}, rev)...).Commit(); err != nil {
			return nil, err
		}
		named = s.rows(res, 1)[0]
	}
	if r.Limit > 0 {
		items = items[:min(r.Limit, len(items))]
	}
	return items, nil
}

// Apply stores c in one transaction, whose conditions are the checks of c. etcd has one writer.
// Nothing changes between the conditions and the writes. If a transaction with writes may have
// arrived, the client never sends it again.
func (s *Store) Apply(ctx context.Context, c *rows.Change) (rev uint64, read [][]rows.Row, err error) {
	var conditions []clientv3.Cmp
	for _, k := range c.Checks { // the ModRevision of a key that does not exist is 0
		key := s.key(k.Table, []byte(k.Thread))
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(key), "=", int64(k.Rev)))
	}
	ops, largest := s.deletes(c), 0
	for _, p := range c.Puts {
		key := s.key(p.Table, p.Bytes)
		if p.New {
			conditions = append(conditions, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		}
		ops = append(ops, clientv3.OpPut(key, string(p.Value)))
		largest = max(largest, len(p.Value))
	}
	res, err := s.client.Txn(ctx).If(conditions...).Then(append(ops, s.gets(c.Reads, 0)...)...).Commit()
	switch {
	case err != nil:
		return 0, nil, failed(err, largest)
	case !res.Succeeded:
		return 0, nil, rows.ErrChanged
	}
	return uint64(res.Header.Revision), s.rows(res, len(c.Reads)), nil
}

// deletes returns the operations of the deletions of c. A transaction of etcd must not change a
// key twice, so they leave out the keys that c puts.
func (s *Store) deletes(c *rows.Change) (ops []clientv3.Op) {
	puts := slices.Clone(c.Puts)
	slices.SortFunc(puts, func(a, b rows.Put) int { return bytes.Compare(a.Bytes, b.Bytes) })
	for _, d := range c.Deletes {
		if d.To == nil {
			d.To = append(bytes.Clone(d.Bytes), 0) // the next key
		}
		from := d.Bytes
		remove := func(to []byte) {
			if bytes.Compare(from, to) < 0 {
				ops = append(ops, clientv3.OpDelete(s.key(d.Table, from), clientv3.WithRange(s.key(d.Table, to))))
			}
		}
		for _, p := range puts {
			if p.Table == d.Table && bytes.Compare(from, p.Bytes) <= 0 && bytes.Compare(p.Bytes, d.To) < 0 {
				remove(p.Bytes)
				from = append(bytes.Clone(p.Bytes), 0)
			}
		}
		remove(d.To)
	}
	return ops
}

// failed returns err as callers of a saver expect it: large values and a server that is away have
// errors of their own.
func failed(err error, largest int) error {
	code := status.Code(err)
	if e := (rpctypes.EtcdError{}); errors.As(err, &e) {
		code = e.Code()
	}
	switch {
	case errors.Is(err, rpctypes.ErrRequestTooLarge), strings.Contains(err.Error(), "larger than max"):
		return &checkpoint.SizeError{Size: largest, Setting: "--max-request-bytes of etcd", Err: err}
	case code == codes.Unavailable:
		return fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	return err
}

// Close does nothing, because the client belongs to the caller.
func (s *Store) Close() error { return nil }

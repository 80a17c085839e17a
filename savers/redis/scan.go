package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// scan calls f with the ids of all threads that have a key, a page at a time. It reads all keys on
// every server. It can name a thread twice. Several goroutines call f.
func (s *Saver) scan(ctx context.Context, what string, f func(ctx context.Context, ids []string) error) error {
	node := func(ctx context.Context, c *goredis.Client) error {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			keys, next, err := c.Scan(ctx, cursor, pattern(s.prefix)+"{*}", 1000).Result()
			if err != nil {
				return err
			}
			ids, err := s.idsOf(ctx, c, keys)
			if err == nil && len(ids) > 0 {
				err = f(ctx, ids)
			}
			if err != nil {
				return err
			}
			cursor = next
		}
		return nil
	}
	return s.do(ctx, what, func(ctx context.Context) error {
		if cluster, ok := s.client.(*goredis.ClusterClient); ok {
			return cluster.ForEachMaster(ctx, node)
		}
		single, _ := s.client.(*goredis.Client)
		return node(ctx, single)
	})
}

// idsOf returns the ids of the threads that keys on one server are of. Some keys are not of
// threads.
func (s *Saver) idsOf(ctx context.Context, c *goredis.Client, keys []string) (ids []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	pipe := c.Pipeline()
	found := make([]*goredis.StringCmd, len(keys))
	for i, key := range keys {
		found[i] = pipe.HGet(ctx, key, "id")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) && damage(err) == nil {
		return nil, err
	}
	for i, key := range keys {
		if id := found[i].Val(); id != "" && s.key(id) == key {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// pattern returns a pattern that matches a text alone.
func pattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`).Replace(text)
}

// withReleased reads a list with the threads whose versions are all released. The index does not
// have these, so it looks for keys of threads. It also reads the index, which has threads whose
// keys are damaged.
func (s *Saver) withReleased(q *checkpoint.ThreadQuery) pager {
	var all []candidate
	begun := false
	return func(ctx context.Context, size int) (page []candidate, more bool, err error) {
		if !begun {
			begun = true
			if all, err = s.every(ctx, q); err != nil {
				return nil, false, err
			}
		}
		page = all[:min(size, len(all))]
		all = all[len(page):]
		if !q.NewestFirst() { // else every has read them
			err = s.describeReleased(ctx, page)
		}
		return page, len(all) > 0, err
	}
}

// describeReleased reads the threads of a page. Some have only released versions.
func (s *Saver) describeReleased(ctx context.Context, page []candidate) error {
	err := s.describeAll(ctx, page)
	for i := range page {
		if c := &page[i]; !c.listed() {
			c.Status, c.Updated = 0, time.Time{}
		}
	}
	return err
}

// every returns all threads that q selects by prefix and place, in its order. It reads the threads
// only if the order needs that.
func (s *Saver) every(ctx context.Context, q *checkpoint.ThreadQuery) (all []candidate, err error) {
	ids, err := s.everyID(ctx, q)
	if err != nil {
		return nil, err
	}
	all = make([]candidate, len(ids))
	for i, id := range ids {
		all[i].ID = id
	}
	if !q.NewestFirst() {
		return all, nil
	}
	for page := range slices.Chunk(all, fullPage) {
		if err := s.describeReleased(ctx, page); err != nil {
			return nil, err
		}
		for i := range page {
			if c := &page[i]; c.damage == nil {
				c.placed = c.Created.UnixMicro()
			}
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool {
		if c.damage != nil {
			return q.After != ""
		}
		return !ledger.Follows(q, c.ID, c.Created)
	})
	slices.SortFunc(all, func(a, b candidate) int {
		switch {
		case a.damage != nil && b.damage == nil:
			return -1
		case a.damage == nil && b.damage != nil:
			return 1
		}
		return ledger.Newer(a.ID, b.ID, a.Created, b.Created)
	})
	return all, nil
}

// everyID returns the ids of all threads that q selects by prefix, and in the order ByID by place.
// They are sorted.
func (s *Saver) everyID(ctx context.Context, q *checkpoint.ThreadQuery) ([]string, error) {
	var mu sync.Mutex
	found := make(map[string]bool)
	add := func(id string) {
		if strings.HasPrefix(id, q.Prefix) && (q.NewestFirst() || id > q.After) {
			found[id] = true
		}
	}
	err := s.scan(ctx, "threads", func(_ context.Context, ids []string) error {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			add(id)
		}
		return nil
	})
	index := s.indexKeys()[keyAll]
	for from, more := rangeFrom(q), err == nil; more; {
		var page []candidate
		if page, err = s.indexPage(ctx, index, from, rangeTo(q), namesPage); err != nil {
			break
		}
		for i := range page {
			add(page[i].ID)
		}
		if more = len(page) == namesPage; more {
			from = "(" + page[len(page)-1].ID
		}
	}
	return slices.Sorted(maps.Keys(found)), err
}

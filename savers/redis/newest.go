package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// namesPage is the number of names in a page that is read without the threads.
const namesPage = 2000

// maxPlacing is how often a listing tries to place threads that calls announce all the time.
const maxPlacing = 5

// newestFirst reads a list in the order NewestFirst. Its first page has the damaged threads whose
// creation time is unknown.
func (s *Saver) newestFirst(q *checkpoint.ThreadQuery) pager {
	index, further := s.set(q)
	next := s.byTime(q, index)
	begun := false
	return func(ctx context.Context, size int) (page []candidate, more bool, err error) {
		var damaged []candidate
		if !begun {
			begun = true
			var known map[string]int64
			if damaged, known, err = s.placeAll(ctx, q); err != nil {
				return nil, false, err
			}
			if len(known) > 0 || q.Prefix != "" || index != s.indexKeys()[keyAll] {
				all, whole, err := s.positions(ctx, q, index, further, known)
				if err != nil {
					return nil, false, err
				}
				if whole {
					next = inPages(all)
				}
			}
		}
		if page, more, err = next(ctx, size); err != nil {
			return nil, false, err
		}
		if err := s.look(ctx, q, page, index, further); err != nil {
			return nil, false, err
		}
		return append(damaged, page...), more, nil
	}
}

// byTime reads the names of the threads in a set by their creation time. It skips those that are
// not in the set, and those without the prefix.
func (s *Saver) byTime(q *checkpoint.ThreadQuery, set string) pager {
	all := s.indexKeys()
	keys := []string{all[keyCreated], all[keyStamps]}
	if set != all[keyAll] {
		keys = append(keys, set)
	}
	since, until, after, id := "-inf", "+inf", "", q.After
	if !q.CreatedSince.IsZero() {
		since = strconv.FormatInt(ceilMicro(q.CreatedSince), 10)
	}
	if !q.CreatedUntil.IsZero() {
		until = strconv.FormatInt(ceilMicro(q.CreatedUntil), 10)
	}
	if q.After != "" {
		micro := ceilMicro(q.AfterCreated)
		if after = strconv.FormatInt(micro, 10); !time.UnixMicro(micro).Equal(q.AfterCreated) {
			id = "" // no thread was created at that time: all of the next microsecond are newer
		}
	}
	return func(ctx context.Context, size int) ([]candidate, bool, error) {
		r, err := s.call(ctx, "threads", s.script.newest, keys, since, until, after, id, size, namesPage, q.Prefix)
		if err != nil {
			return nil, false, err
		}
		page, err := r.candidates()
		if err != nil || len(page) == 0 {
			return nil, false, err
		}
		last := page[len(page)-1] // only says where the next page begins; none follows if it has no id
		if last.ID != "" {
			after, id = strconv.FormatInt(last.placed, 10), last.ID
		}
		return page[:len(page)-1], last.ID != "", nil
	}
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// inPages returns names in pages.
func inPages(all []candidate) pager {
	return func(_ context.Context, size int) (page []candidate, more bool, err error) {
		page = all[:min(size, len(all))]
		all = all[len(page):]
		return page, len(all) > 0, nil
	}
}

// positions returns the names in a set that q selects by prefix, time and place, newest first. If
// the set fills a page, it returns none, and whole is false. It reads the whole set if known is
// not empty, which has creation times that the index does not have.
//
// Threads without a creation time are gone, or are not open yet. The list does not reach them, so
// positions takes those that it reads out of the set. Of a set that fills a page, it reads those
// after q.After for that. So a walk over all threads reads about all names.
func (s *Saver) positions(
	ctx context.Context, q *checkpoint.ThreadQuery, set string, further bool, known map[string]int64,
) (all []candidate, whole bool, err error) {
	var gone []candidate
	whole = true
	for from, more := rangeFrom(q), true; more; {
		page, err := s.indexPage(ctx, set, from, rangeTo(q), namesPage)
		if err != nil {
			return nil, false, err
		}
		if more = len(page) == namesPage; more {
			from = "(" + page[len(page)-1].ID
			if whole = len(known) > 0; !whole && q.After != "" {
				if page, err = s.indexPage(ctx, set, "["+q.After, "+", namesPage); err != nil {
					return nil, false, err
				}
			}
			more = whole
		}
		for i := range page {
			if at := known[page[i].ID]; at != 0 {
				page[i].placed = at
			}
			if page[i].placed == 0 {
				gone = append(gone, page[i])
				continue
			}
			created := time.UnixMicro(page[i].placed)
			if inTime(q, created) && ledger.Follows(q, page[i].ID, created) {
				all = append(all, page[i])
			}
		}
	}
	if err := s.look(ctx, q, gone, set, further); err != nil {
		return nil, false, err
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return ledger.Newer(a.ID, b.ID, time.UnixMicro(a.placed), time.UnixMicro(b.placed))
	})
	return all, whole, nil
}

// inTime reports whether q selects a creation time.
func inTime(q *checkpoint.ThreadQuery, created time.Time) bool {
	return !created.Before(q.CreatedSince) && (q.CreatedUntil.IsZero() || created.Before(q.CreatedUntil))
}

// placeAll makes the creation times of the index complete: it places the unplaced threads. It
// returns those that are damaged and have no place, if q selects them. On a replica it places
// nothing, and returns the creation times.
func (s *Saver) placeAll(ctx context.Context, q *checkpoint.ThreadQuery) (damaged []candidate, known map[string]int64, err error) {
	if err := s.unplace(ctx); err != nil {
		return nil, nil, err
	}
	for range maxPlacing {
		var missed int
		if damaged, known, missed, err = s.place(ctx, q); err != nil || missed == 0 {
			break
		}
	}
	return damaged, known, err
}

// place places the unplaced threads once. missed is the number of those that a call announced
// meanwhile. known are the creation times that a replica did not store.
func (s *Saver) place(ctx context.Context, q *checkpoint.ThreadQuery) (damaged []candidate, known map[string]int64, missed int, err error) {
	unplaced := s.indexKeys()[keyUnplaced]
	known = make(map[string]int64)
	for from, more := "-", true; more; {
		page, err := s.indexPage(ctx, unplaced, from, "+", fullPage)
		if err != nil {
			return nil, nil, 0, err
		}
		if more = len(page) == fullPage; more {
			from = "(" + page[len(page)-1].ID
		}
		if err := s.describeAll(ctx, page); err != nil {
			return nil, nil, 0, err
		}
		var over []listed
		for i := range page {
			switch c := &page[i]; {
			case c.damage != nil:
				if c.placed == 0 && q.After == "" && strings.HasPrefix(c.ID, q.Prefix) {
					damaged = append(damaged, *c)
				}
			case !c.Created.IsZero():
				// The call that announced the thread can still create it again.
				settled := c.indexed == c.stamp || c.age > grace
				over = append(over, listed{id: c.ID, stamp: c.indexed, created: c.Created.UnixMicro(), settled: settled})
			case c.age > grace:
				over = append(over, listed{id: c.ID, stamp: c.indexed, gone: true})
			}
		}
		n, replica, err := s.unlist(ctx, over)
		if err != nil {
			return nil, nil, 0, err
		}
		for i := range over {
			if replica && over[i].created != 0 {
				known[over[i].id] = over[i].created
			}
		}
		missed += n
	}
	return damaged, known, missed, nil
}

// unplace finds threads that have no place although they are not known to be unplaced. Somebody
// removed a key of the index.
func (s *Saver) unplace(ctx context.Context) error {
	keys := s.indexKeys()
	var missing bool
	err := s.do(ctx, "threads", func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		all, created, unplaced := pipe.ZCard(ctx, keys[keyAll]), pipe.ZCard(ctx, keys[keyCreated]), pipe.ZCard(ctx, keys[keyUnplaced])
		_, err := pipe.Exec(ctx)
		missing = all.Val() > created.Val()+unplaced.Val()
		return err
	})
	for from := "-"; err == nil && missing; {
		var page []candidate
		if page, err = s.indexPage(ctx, keys[keyAll], from, "+", namesPage); err != nil {
			break
		}
		var found []goredis.Z
		for i := range page {
			if page[i].placed == 0 {
				found = append(found, goredis.Z{Member: page[i].ID})
			}
		}
		if len(found) > 0 {
			err = s.do(ctx, "threads", func(ctx context.Context) error {
				if err := s.client.ZAdd(ctx, keys[keyUnplaced], found...).Err(); !isReplica(err) {
					return err
				}
				return nil
			})
		}
		if missing = len(page) == namesPage; missing {
			from = "(" + page[len(page)-1].ID
		}
	}
	return err
}

// known returns what the index has of a thread.
func (c *candidate) known() checkpoint.Thread {
	t := checkpoint.Thread{ID: c.ID}
	if c.placed != 0 {
		t.Created = time.UnixMicro(c.placed).UTC()
	}
	return t
}

// selected reports whether q selects a thread that was read.
func (c *candidate) selected(q *checkpoint.ThreadQuery) bool {
	// The index has the place of a thread that was deleted and created again meanwhile.
	moved := q.NewestFirst() && c.Created.UnixMicro() != c.placed
	listed := c.listed() || q.Released && c.Versions > 0
	return !moved && listed && ledger.Selects(q, &c.Thread, c.leased)
}

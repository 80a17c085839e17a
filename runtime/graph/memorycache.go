package graph

import (
	"bytes"
	"container/list"
	"context"
	"sync"
	"time"
)

// MemoryCache returns a Cacher in the memory of the process. It holds results of at most that many
// bytes together, and drops first those that were used least recently. A result counts with its
// key, its value and 200 bytes more. A result larger than the limit is not stored.
func MemoryCache(most int) Cacher {
	return &memoryCache{most: most, places: make(map[string]*list.Element)}
}

type memoryCache struct {
	most int

	mu     sync.Mutex
	places map[string]*list.Element
	used   list.List // of *cached, the one that was used last first
	size   int
}

// cached is one result.
type cached struct {
	key   string
	value []byte
	until time.Time // zero for no limit
}

// cachedOverhead is about how many bytes an entry has in addition to its key and value.
const cachedOverhead = 200

func (c *cached) size() int { return len(c.key) + len(c.value) + cachedOverhead }

// Get implements Cacher.
func (m *memoryCache) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	place := m.places[key]
	if place == nil {
		return nil, false, nil
	}
	c := place.Value.(*cached)
	if !c.until.IsZero() && !time.Now().Before(c.until) {
		m.drop(place)
		return nil, false, nil
	}
	m.used.MoveToFront(place)
	return c.value, true, nil
}

// Put implements Cacher.
func (m *memoryCache) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	c := &cached{key: key, value: bytes.Clone(value)}
	if ttl > 0 {
		c.until = time.Now().Add(ttl)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if place := m.places[key]; place != nil {
		m.drop(place)
	}
	if c.size() > m.most {
		return nil
	}
	m.places[key] = m.used.PushFront(c)
	for m.size += c.size(); m.size > m.most; {
		m.drop(m.used.Back())
	}
	return nil
}

// drop removes an entry.
func (m *memoryCache) drop(place *list.Element) {
	c := m.used.Remove(place).(*cached)
	delete(m.places, c.key)
	m.size -= c.size()
}

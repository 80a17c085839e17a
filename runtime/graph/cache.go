package graph

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

// Cacher stores the results of nodes for Builder.Cache. MemoryCache returns one for a process, and
// package store has one for a database. Implement it for others. It must be safe for concurrent
// use.
type Cacher interface {
	// Get returns the value of a key. ok is false if there is none, or it has expired.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Put stores a value for a time; 0 is no limit. It does not keep value after it has returned.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Cache returns the stored result of a node, if there is one for key(s), instead of calling the
// node. Otherwise the node is called, and the update that it returns is stored for ttl; 0 is no
// limit. The choice of a RoutingNode is a part of its result. key must name all that the result
// depends on. Include a version, and change it when the code of the node changes.
//
// Results are never shared between graphs, nodes or versions of the schema of the state. Tasks of
// one key that run concurrently all call the node. A task with a cached result has no attempt. It
// waits for no limiter, and observers and streams get EventTaskCached. The result of a fallback is
// not stored. Replays and forks also get cached results.
//
// An error of the Cacher, or a panic of key, never fails the task: the node is called, and
// EventTaskCached reports the error. A result that cannot be decoded is an error too.
//
// The node is a Node or RoutingNode without questions and signals. Use TaskCache for a task node.
// Compile reports other kinds of nodes, a nil where, a nil key, a negative ttl, an unknown id and
// a second cache of a node.
//
// Runs call key concurrently. It must not modify s. It is called once before the node, and again
// to store the result.
func (b *Builder[S, U]) Cache(id ID, where Cacher, ttl time.Duration, key func(s S) string) {
	var f cacheKeyFunc[S]
	if key != nil {
		f = func(s S, _ payload) (string, error) { return key(s), nil }
	}
	b.cache(cacheDecl{id: id, name: "Cache", where: where, ttl: ttl}, f)
}

// TaskCache is Builder.Cache for a TaskNode or RoutingTaskNode. key also gets the payload of the
// send, and is called concurrently for the sends of one superstep.
func TaskCache[S, U, In any](b *Builder[S, U], node Sender[In], where Cacher, ttl time.Duration, key func(s S, in In) string) {
	var f cacheKeyFunc[S]
	if key != nil && node.read != nil {
		f = func(s S, p payload) (string, error) {
			in, err := node.read(p)
			if err != nil {
				return "", err
			}
			return key(s, in), nil
		}
	}
	b.cache(cacheDecl{id: node.ID, name: "TaskCache", takes: true, where: where, ttl: ttl}, f)
}

// cacheDecl is a declared Cache.
type cacheDecl struct {
	id    ID
	name  string // of the function that declared it
	takes bool   // it is for task nodes
	empty bool   // it has no function
	where Cacher
	ttl   time.Duration
}

// cacheKeyFunc returns the key of a result. The payload is nil without a send.
type cacheKeyFunc[S any] func(S, payload) (string, error)

// cache declares a cache.
func (b *Builder[S, U]) cache(d cacheDecl, key cacheKeyFunc[S]) {
	d.empty = key == nil
	b.declare(decls[S, U]{outline: outline{caches: []cacheDecl{d}}, keys: []cacheKeyFunc[S]{key}})
}

// nodeCache is the cache of a node.
type nodeCache struct {
	where Cacher
	ttl   time.Duration
}

// addCaches gives nodes their caches.
func (c *compiler) addCaches() {
	for i, d := range c.caches {
		what := fmt.Sprintf("%s of %s", d.name, d.id)
		n, ok := c.lookup(what, d.id)
		switch {
		case !ok:
			continue
		case n <= start:
			c.fault("%s: %s is no node", what, d.id)
			continue
		}
		node := &c.g.nodes[n]
		switch {
		case d.empty:
			c.fault("%s has no function for the key", what)
		case value.IsNil(d.where):
			c.fault("%s has no Cacher; use graph.MemoryCache", what)
		case d.ttl < 0:
			c.fault("%s: the time %s is negative; 0 is no limit", what, d.ttl)
		case node.sub != nil:
			c.fault("%s: the node is a subgraph; cache nodes of the subgraph instead", what)
		case len(node.questions) > 0:
			c.fault("%s: the node asks questions, which a cached result would skip", what)
		case len(node.signals) > 0:
			c.fault("%s: the node receives signals, which a cached result would skip", what)
		case d.takes != (node.decode != nil):
			c.fault("%s: the node is of another kind; use Cache for nodes and TaskCache for task nodes", what)
		case node.cache.where != nil:
			c.fault("%s: the node has a cache already", what)
		default:
			node.cache = nodeCache{d.where, d.ttl}
			c.from[n].cache = i
		}
	}
}

// cacheFormat is the number of the form of cached results.
const cacheFormat = 1

// cacheKey returns the key of the result of the task in slot i. Nothing is shared between graphs,
// nodes and schemas.
func (r *run) cacheKey(i int) (string, error) {
	t := &r.exec.Tasks[i]
	given, err := r.state.cacheKey(t)
	if err != nil {
		return "", err
	}
	b := binary.BigEndian.AppendUint64([]byte{cacheFormat}, r.g.fingerprint)
	for _, part := range []string{r.g.name, string(r.g.nodes[t.Node].id), given} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func (a *adapter[S, U]) cacheKey(t *exec.Task) (string, error) {
	return a.g.funcs[t.Node].cacheKey(a.live.View(), t.Sent)
}

// Cached implements exec.Host.
func (r *run) Cached(ctx context.Context, i int) (hit bool, err error) {
	key, err := r.cacheKey(i)
	if err != nil {
		return false, err
	}
	result, hit, err := r.g.nodes[r.exec.Tasks[i].Node].cache.where.Get(ctx, key)
	if !hit || err != nil {
		return false, err
	}
	if err := r.readResult(i, result); err != nil {
		return false, fmt.Errorf("the cached result cannot be read: %w", err)
	}
	return true, nil
}

// Cache implements exec.Host.
func (r *run) Cache(ctx context.Context, i int) error {
	key, err := r.cacheKey(i)
	if err != nil {
		return err
	}
	result, err := r.encodeResult(i)
	if err != nil {
		return err
	}
	c := &r.g.nodes[r.exec.Tasks[i].Node].cache
	return c.where.Put(ctx, key, result, c.ttl)
}

package journal

import (
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Keys makes the keys of the tasks of one namespace. Task is safe for concurrent use.
type Keys struct {
	Scope string // of the namespace

	mu   sync.Mutex
	line checkpoint.ID
	was  map[at]string // the node ids under which tasks became due, if these were others
}

// at names a task of a superstep.
type at struct {
	node  string
	index int
}

// Line returns the run line: part of every key, and of every record.
func (k *Keys) Line() checkpoint.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.line
}

// SetLine sets the run line.
func (k *Keys) SetLine(line checkpoint.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.line = line
}

// Was notes that a task became due when its node had another id.
func (k *Keys) Was(node string, index int, id string) {
	if k.was == nil {
		k.was = make(map[at]string)
	}
	k.was[at{node, index}] = id
}

// Forget forgets what Was noted: what is due became so under the ids that nodes have now.
func (k *Keys) Forget() { k.was = nil }

// Task returns the key of a task that runs in the given step. Without a run line, in a run that
// stores nothing, it makes one. It returns "" if there is no randomness for that.
func (k *Keys) Task(step int, node string, index int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.line.IsZero() {
		line, err := checkpoint.NewID()
		if err != nil {
			return ""
		}
		k.line = line
	}
	if was, ok := k.was[at{node, index}]; ok {
		node = was
	}
	return TaskKey(k.line, k.Scope, step, node, index)
}

// ScopeWithin returns the scope of the tasks in a call that a task makes. scope is that of the
// task, and key is its key.
func ScopeWithin(scope, key string) string {
	if scope == "" {
		return key
	}
	return scope + "/" + key
}

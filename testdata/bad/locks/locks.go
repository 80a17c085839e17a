// Package locks has locks in its state.
package locks

import (
	"sync"
	"sync/atomic"
)

//graphgen:state
type State struct {
	Mu      sync.Mutex    // want `State.Mu: type sync.Mutex is a lock, which must not be copied, but states are copied; keep it outside the state`
	RW      *sync.RWMutex // want `type sync.RWMutex is a lock`
	Count   atomic.Int64  // want `type atomic.Int64 is a lock`
	Own     own           // want `type own is a lock`
	Guarded Guarded       // the fault is at its field
	Cache   Cache         `graph:"untracked"` // want `type Cache holds the lock sync.Mutex, which must not be copied, but states are copied; use a pointer to Cache`
	Direct  sync.Mutex    `graph:"untracked"` // want `type sync.Mutex is the lock`
	Fine    *Cache        `graph:"untracked"`
}

type own struct{}

func (*own) Lock()   {}
func (*own) Unlock() {}

// Guarded has a lock next to its data.
type Guarded struct {
	mu sync.Mutex // want `Guarded.mu: type sync.Mutex is a lock`
	n  int
}

// Cache has a lock next to its data.
type Cache struct {
	mu sync.Mutex
	n  int
}

package store

import (
	"context"
	"time"
)

// Backend stores items as bytes. It is safe for concurrent use, and for use by many processes if
// the storage is shared. Programs use a [Collection]; authors of backends implement this interface
// and test it with package storetest.
//
// Keys are opaque bytes, ordered bytewise. Byte slices that a backend returns never change, and
// the caller must not modify them. A backend keeps no slice of its arguments. Times are those of
// the server, in microseconds.
//
// A version is larger than all earlier versions of the key, also of an item that was deleted or
// has expired. That holds for concurrent creates and deletes too. Backends take the version from
// the server's clock, in microseconds, if there is no live item, and add 1 otherwise. The clock
// alone is not enough: a backend must know the versions of items that it removed lately.
//
// If ctx ends during a write, the outcome is unknown. After Close every method fails with
// [ErrClosed].
type Backend interface {
	// Do runs operations in order. All of them take effect at one moment, or none does. Each
	// operation sees the effects of those before it. There is one result for each operation.
	//
	// Do fails with a *ConflictError if the condition of an operation does not hold.
	//
	// If Op.Once was used before for the same namespace and key, in an earlier call or batch, the
	// operation changes nothing, whatever its condition is. Its result has the version of the
	// first use, and Repeated. Backends remember a use for at least [OnceFor]. A use whose batch
	// failed does not count.
	Do(ctx context.Context, ops []Op) ([]Result, error)

	// Find returns the items that q selects, by namespace and then by key. A page with fewer items
	// than q.Limit is the last.
	Find(ctx context.Context, q Query) ([]Record, error)

	// Namespaces returns the namespaces of live items that q selects, in order, without
	// repetition. A page with fewer namespaces than q.Limit is the last.
	Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error)

	// Declare makes the vector index of spec, unless there is one of that name, and returns the
	// one that is stored. A name belongs to one index in the whole backend. Callers declare an
	// index before they use it.
	Declare(ctx context.Context, spec VectorSpec) (VectorSpec, error)

	// Search returns the items that q selects whose vectors in the index have the largest dot
	// product with q.Vector, the largest first. Of several vectors of an item, the nearest counts.
	// Items with equal scores are in the order of Find. There are fewer than q.Limit items only if
	// fewer match. A backend may search by an index that finds nearly all of the nearest items.
	// One that compares all vectors uses [Nearest].
	Search(ctx context.Context, q VectorQuery) ([]Hit, error)

	// SearchText returns the items that q selects and that have at least one of q.Words in the
	// index. [Ranking] gives them scores and an order, the best first. There are fewer than
	// q.Limit items only if fewer match.
	SearchText(ctx context.Context, q TextQuery) ([]Hit, error)

	// Sweep removes at most limit expired items, and uses of Once that are older than OnceFor. It
	// returns the number of removed items. If that is limit, items and uses may be left; else none
	// is.
	Sweep(ctx context.Context, limit int) (int, error)

	// Close frees the resources of the backend. It waits for calls in progress.
	Close() error
}

// OnceFor is how long a backend remembers the keys of [Once].
const OnceFor = 7 * 24 * time.Hour

// OpKind is what an Op does.
type OpKind uint8

// The kinds.
const (
	OpGet     OpKind = iota + 1 // reads an item
	OpPut                       // creates an item, or replaces its value
	OpDelete                    // removes an item; succeeds if there is none
	OpIndex                     // replaces the index entries, vectors and words of an item, not its version or times; ignores a missing item
	OpVectors                   // reads the vectors of an item, and no value
)

// Op is one operation on one item.
type Op struct {
	Kind      OpKind
	Namespace Namespace
	Key       string

	Value []byte  // OpPut: nil and empty are a value without bytes
	Index []Entry // OpPut, OpIndex: without repetition

	Vectors []Vector // OpPut, OpIndex: of indexes that are declared, with their dimensions
	Texts   []Text   // OpPut, OpIndex: one for each text index

	// TTL is the life of the item from now; 0 is no limit. ExpireAt is the end of its life; zero
	// is no limit. Both are cut to microseconds. KeepExpiry keeps the limit of a live item. At
	// most one is set. All are for OpPut.
	TTL        time.Duration
	ExpireAt   time.Time
	KeepExpiry bool

	Refresh bool // OpGet: the life of an item that was put with TTL begins again; its version and Updated stay

	IfAbsent  bool   // OpPut: only if there is no live item
	IfVersion int64  // OpPut, OpDelete, OpIndex: only if the live item has this version; 0 is any or none
	Once      string // OpPut, OpDelete: only once for this key; empty is always
}

// Entry is a value by which Find finds an item.
type Entry struct {
	Index string
	Value []byte
}

// Result is the result of an Op.
type Result struct {
	// Record is the item after the operation, for OpDelete the removed item. Results of OpGet have
	// the value; others may be without it and without index entries. Repeated operations have only
	// the version, which is 0 if the first use deleted.
	Record   Record
	Found    bool // OpGet: the item exists; OpVectors: it has vectors; others: it existed before
	Repeated bool // the Once key was used before
}

// Record is a stored item.
type Record struct {
	Namespace Namespace
	Key       string
	Value     []byte // never nil in a record that was read
	Version   int64
	Created   time.Time
	Updated   time.Time
	Expires   time.Time // zero for never
	Vectors   []Vector  // of OpVectors only, in the order of the put
}

// Query selects items.
type Query struct {
	Namespace Namespace   // this namespace and those below it; empty is all
	Exact     bool        // only this namespace
	Where     []Condition // all must hold
	After     *Position   // only items after this one, for paging; nil is all
	Limit     int         // 1 to MaxPage
}

// Condition holds for an item if one of its entries in the index is in one of the ranges.
type Condition struct {
	Index  string
	Ranges []Range
}

// Range is From <= value < To, bytewise. A nil To is no limit.
type Range struct{ From, To []byte }

// Position is the place of an item in the order of Find.
type Position struct {
	Namespace Namespace
	Key       string
}

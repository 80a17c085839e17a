package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
)

// Limits on vectors. More are an [*InvalidError].
const (
	MaxVectors  = 64      // texts of an item that are embedded, in all its vector indexes
	MaxDims     = 8192    // dimensions of a vector
	MaxModel    = 256     // bytes of the name of a model
	MaxCompared = 100_000 // vectors that a search compares one by one
)

// Embedder turns texts into vectors, by a model that the program chooses. Texts with a similar
// meaning have vectors with a similar direction.
type Embedder struct {
	// Model names the model and its version. It is stored with the index: another model is refused
	// with a [*ModelError].
	Model string

	// Dims is the number of dimensions of the vectors.
	Dims int

	// Embed returns a vector for each text, in order. Vectors need not have length 1, but they
	// must have a direction: a zero vector, NaN and Inf are an [*EmbedError]. Embed is never
	// called while the store holds a lock or a transaction. It must be safe for concurrent use.
	// It must not keep texts. The store does not modify or keep the vectors after the call, so
	// Embed may return them from a cache, if nobody else modifies them.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)

	// EmbedQuery returns the vector for the text of a search, for models that embed queries and
	// documents differently. If it is nil, Embed does that. The rules are those of Embed.
	EmbedQuery func(ctx context.Context, text string) ([]float32, error)

	// MaxTexts is the maximum number of texts in a call of Embed. The default is 96.
	MaxTexts int
}

// defaultTexts is the default of Embedder.MaxTexts: the lowest limit among providers in common
// use.
const defaultTexts = 96

// VectorIndex holds the vectors of texts of T, by which [Collection.Search] finds items.
// NewVectorIndex makes it. Search is experimental: any version may change it.
type VectorIndex[T any] struct {
	name  string
	e     Embedder
	texts func(*T) []string
}

// NewVectorIndex returns an index for search by meaning. texts returns the texts of a value, such
// as its fields. Each text gets a vector of its own, and an item is as near to a query as its
// nearest text. Empty texts get none; an item without texts is never found. An item may have at
// most [MaxVectors] texts. texts must not change its argument, and must be safe for concurrent
// use. A nil texts is an [*InvalidError] of [NewCollection].
//
// The name is stored, and belongs to one model in the whole backend. For another model, use
// another name and call [Collection.Reindex].
func NewVectorIndex[T any](name string, e Embedder, texts func(*T) []string) *VectorIndex[T] {
	return &VectorIndex[T]{name, e, texts}
}

func (i *VectorIndex[T]) apply(c *core[T]) error {
	if i == nil || i.texts == nil {
		return noFunction("a VectorIndex")
	}
	e := i.e
	switch {
	case e.Model == "" || len(e.Model) > MaxModel:
		return &InvalidError{"model", strconv.Itoa(len(e.Model)) + " bytes", fmt.Sprintf("1 to %d", MaxModel)}
	case e.Dims < 1 || e.Dims > MaxDims:
		return &InvalidError{"dims", strconv.Itoa(e.Dims), fmt.Sprintf("1 to %d", MaxDims)}
	case e.Embed == nil:
		return &InvalidError{"embedder", "no Embed", "a function that returns vectors"}
	case e.MaxTexts < 0:
		return &InvalidError{"max texts", strconv.Itoa(e.MaxTexts), "0 or more"}
	}
	if e.MaxTexts == 0 {
		e.MaxTexts = defaultTexts
	}
	c.vectors = append(c.vectors, vectorIndex[T]{i, &embedding{name: i.name, Embedder: e}})
	return c.claim("vector index", i.name)
}

// vectorIndex is a VectorIndex as a collection has it.
type vectorIndex[T any] struct {
	*VectorIndex[T]
	of *embedding
}

// pending returns vectors of a value that have a text and no values yet.
func (c *core[T]) pending(value *T) (all []Vector) {
	for _, i := range c.vectors {
		for _, text := range i.texts(value) {
			if text != "" {
				all = append(all, Vector{Index: i.of.name, Hash: hashOf(text), text: text, of: i.of})
			}
		}
	}
	return all
}

// VectorSpec is a vector index as a backend stores it.
type VectorSpec struct {
	Name  string
	Model string
	Dims  int
}

// Vector is the vector of one text of an item.
type Vector struct {
	Index  string    // the name of a vector index
	Hash   [16]byte  // of the text
	Values []float32 // as many as the index has dimensions; the length of the vector is 1

	text string     // until Values are known
	of   *embedding // the same
}

// VectorQuery selects the items nearest to a vector.
type VectorQuery struct {
	Query  // After must be nil
	Index  string
	Vector []float32 // of length 1
	Offset int       // how many of the nearest are left out; with Limit at most MaxPage
}

// Hit is an item that Search of a backend has found.
type Hit struct {
	Record
	Score float64 // of Search, the dot product of VectorQuery.Vector and the nearest vector of the item
}

// Check returns an [*InvalidError] for the first value in s that no backend accepts, or nil.
func (s *VectorSpec) Check() error {
	if err := checkIndexName(s.Name); err != nil {
		return err
	}
	if s.Model == "" || len(s.Model) > MaxModel || s.Dims < 1 || s.Dims > MaxDims {
		return &InvalidError{"vector index", fmt.Sprintf("model %q, %d dimensions", s.Model, s.Dims), "a model and its dimensions"}
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in q that no backend accepts, or nil.
func (q *VectorQuery) Check() error {
	if err := checkSearch(&q.Query, q.Index, q.Offset); err != nil {
		return err
	}
	if len(q.Vector) < 1 || len(q.Vector) > MaxDims {
		return &InvalidError{"vector", fmt.Sprintf("%d dimensions", len(q.Vector)), fmt.Sprintf("1 to %d", MaxDims)}
	}
	return nil
}

// checkSearch checks what all searches have.
func checkSearch(q *Query, index string, offset int) error {
	if err := q.Check(); err != nil {
		return err
	}
	switch {
	case q.After != nil:
		return &InvalidError{"after", q.After.Key, "none in a search; use Offset"}
	case offset < 0 || offset > MaxPage-q.Limit:
		return &InvalidError{"offset", strconv.Itoa(offset), fmt.Sprintf("0 or more, with the limit at most %d", MaxPage)}
	}
	return checkIndexName(index)
}

func (op *Op) checkVectors() error {
	if len(op.Vectors) > MaxVectors {
		return &InvalidError{"vectors", strconv.Itoa(len(op.Vectors)) + " texts", fmt.Sprintf("at most %d", MaxVectors)}
	}
	for i := range op.Vectors {
		v := &op.Vectors[i]
		if err := checkIndexName(v.Index); err != nil {
			return err
		}
		if v.of == nil && (len(v.Values) < 1 || len(v.Values) > MaxDims) {
			return &InvalidError{"vector", fmt.Sprintf("%d dimensions", len(v.Values)), fmt.Sprintf("1 to %d", MaxDims)}
		}
	}
	return nil
}

// unit returns the vector of length 1 with the direction of v. It reports whether v has one.
func unit(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, false
	}
	length := math.Sqrt(sum)
	to := make([]float32, len(v))
	for i, x := range v {
		to[i] = float32(float64(x) / length)
	}
	return to, true
}

package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// embedding is a vector index of a collection, without the type of its values.
type embedding struct {
	name string
	Embedder
	declared atomic.Bool // the backend has the index, with this model
}

// ModelError reports a vector index that holds vectors of another model than that of the program.
// The call stored nothing.
type ModelError struct {
	Index  string
	Want   VectorSpec // of the program
	Stored VectorSpec
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("store: vector index %q holds vectors of the model %q with %d dimensions, and the program uses %q with %d; "+
		"give the index another name and call Reindex", e.Index, e.Stored.Model, e.Stored.Dims, e.Want.Model, e.Want.Dims)
}

// EmbedError reports an [Embedder] that failed, or returned something else than the vectors of the
// texts. The call stored nothing.
type EmbedError struct {
	Index string
	Model string
	Err   error
}

func (e *EmbedError) Error() string {
	return fmt.Sprintf("store: vector index %q: the embedder of the model %q: %v", e.Index, e.Model, e.Err)
}

// Unwrap returns the cause.
func (e *EmbedError) Unwrap() error { return e.Err }

func hashOf(text string) (h [16]byte) {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:])
}

// declare makes the index in the backend, once, and refuses an index of another model.
func (e *embedding) declare(ctx context.Context, b Backend) error {
	if e.declared.Load() {
		return nil
	}
	want := VectorSpec{e.name, e.Model, e.Dims}
	stored, err := b.Declare(ctx, want)
	if err != nil {
		return err
	}
	if stored != want {
		return &ModelError{e.name, want, stored}
	}
	e.declared.Store(true)
	return nil
}

// known identifies a text in an index.
type known struct {
	index string
	hash  [16]byte
}

// vectorsOf has the values of the vectors of texts.
type vectorsOf map[known][]float32

// embed gives the pending vectors of operations their values. It takes those of texts that values
// or the stored items have, and lets the embedders make the others. It adds all of them to values,
// unless that is nil.
func embed(ctx context.Context, b Backend, ops []Op, values vectorsOf) error {
	if !slices.ContainsFunc(ops, func(op Op) bool { return len(op.Vectors) > 0 }) {
		return nil
	}
	if err := CheckOps(ops); err != nil {
		return err
	}
	if values == nil {
		values = make(vectorsOf)
	}
	if err := values.read(ctx, b, ops); err != nil {
		return err
	}
	if err := values.fill(ctx, ops); err != nil {
		return err
	}
	for i := range ops {
		for j := range ops[i].Vectors {
			v := &ops[i].Vectors[j]
			v.Values, v.text, v.of = values[known{v.Index, v.Hash}], "", nil
		}
	}
	return nil
}

// read adds the vectors of the stored items of operations that have other texts than those of
// values. It declares the indexes.
func (values vectorsOf) read(ctx context.Context, b Backend, ops []Op) error {
	var reads []Op
	for i := range ops {
		op, missing := &ops[i], false
		for j := range op.Vectors {
			v := &op.Vectors[j]
			if err := v.of.declare(ctx, b); err != nil {
				return err
			}
			missing = missing || values[known{v.Index, v.Hash}] == nil
		}
		if missing {
			reads = append(reads, Op{Kind: OpVectors, Namespace: op.Namespace, Key: op.Key})
		}
	}
	if len(reads) == 0 {
		return nil
	}
	results, err := b.Do(ctx, reads)
	if err != nil {
		return err
	}
	for i := range results {
		for _, v := range results[i].Record.Vectors {
			values[known{v.Index, v.Hash}] = v.Values
		}
	}
	return nil
}

// fill adds the vectors that values lacks. It embeds a text once.
func (values vectorsOf) fill(ctx context.Context, ops []Op) error {
	texts := make(map[*embedding][]string)
	var order []*embedding
	asked := make(map[known]bool)
	for i := range ops {
		for _, v := range ops[i].Vectors {
			at := known{v.Index, v.Hash}
			if values[at] != nil || asked[at] {
				continue
			}
			asked[at] = true
			if texts[v.of] == nil {
				order = append(order, v.of)
			}
			texts[v.of] = append(texts[v.of], v.text)
		}
	}
	for _, e := range order {
		for part := range slices.Chunk(texts[e], e.MaxTexts) {
			made, err := e.vectors(ctx, part)
			if err != nil {
				return err
			}
			for i, v := range made {
				values[known{e.name, hashOf(part[i])}] = v
			}
		}
	}
	return nil
}

// vectors embeds texts.
func (e *embedding) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	made, err := e.Embed(ctx, texts)
	if err == nil && len(made) != len(texts) {
		err = fmt.Errorf("the embedder returned %d vectors for %d texts", len(made), len(texts))
	}
	if err != nil {
		return nil, &EmbedError{e.name, e.Model, err}
	}
	all := make([][]float32, len(made))
	for i, v := range made {
		if all[i], err = e.checked(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// query embeds the text of a search.
func (e *embedding) query(ctx context.Context, text string) ([]float32, error) {
	if e.EmbedQuery == nil {
		made, err := e.vectors(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		return made[0], nil
	}
	v, err := e.EmbedQuery(ctx, text)
	if err != nil {
		return nil, &EmbedError{e.name, e.Model, err}
	}
	return e.checked(v)
}

// checked returns a vector that an embedder made, with the length 1.
func (e *embedding) checked(v []float32) ([]float32, error) {
	if len(v) != e.Dims {
		err := fmt.Errorf("the embedder returned a vector of %d dimensions, want %d", len(v), e.Dims)
		return nil, &EmbedError{e.name, e.Model, err}
	}
	to, ok := unit(v)
	if !ok {
		return nil, &EmbedError{e.name, e.Model, errNoDirection}
	}
	return to, nil
}

var errNoDirection = errors.New("the embedder returned a zero vector, or one with NaN or Inf")

package sqlsaver

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// vector returns a vector as a bound value.
func (d *Dialect) vector(values []float32) any {
	if d.Vector != nil {
		return d.Vector(values)
	}
	b := make([]byte, 0, 4*len(values))
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// parseVector appends the vector of a column to a slice.
func (d *Dialect) parseVector(to []float32, column []byte) ([]float32, error) {
	if d.ParseVector != nil {
		return d.ParseVector(to, column)
	}
	if len(column)%4 != 0 {
		return nil, fmt.Errorf("a vector: %w: %d bytes", store.ErrDamaged, len(column))
	}
	for ; len(column) > 0; column = column[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(column)))
	}
	return to, nil
}

// vectors reads the vectors of an item.
func (t *Store) vectors(ctx context.Context, db Runner, op *store.Op) (store.Result, error) {
	result := store.Result{Record: store.Record{Namespace: slices.Clone(op.Namespace), Key: op.Key}}
	rows, err := t.s.query(ctx, db, stStoreVectors, op.Namespace.Append(nil), []byte(op.Key))
	if err != nil {
		return result, err
	}
	err = each(rows, func(rows Rows) error {
		var name, hash, column []byte
		if err := rows.Scan(&result.Record.Version, &name, &hash, &column); err != nil {
			return err
		}
		v := store.Vector{Index: string(name)}
		if copy(v.Hash[:], hash) != len(v.Hash) {
			return fmt.Errorf("a vector: %w: a hash of %d bytes", store.ErrDamaged, len(hash))
		}
		var err error
		v.Values, err = t.s.d.parseVector(nil, column)
		result.Record.Vectors = append(result.Record.Vectors, v)
		return err
	})
	result.Found = len(result.Record.Vectors) > 0
	return result, err
}

// Declare makes a vector index, unless it exists.
func (t *Store) Declare(ctx context.Context, spec store.VectorSpec) (stored store.VectorSpec, err error) {
	if err := spec.Check(); err != nil {
		return stored, err
	}
	if err := t.begin(ctx); err != nil {
		return stored, err
	}
	defer t.s.end()
	var search *VectorSearch
	err = t.s.write(ctx, RolledBack, func(tx Tx) error {
		if _, err := t.s.exec(ctx, tx, stStoreDeclare, []byte(spec.Name), []byte(spec.Model), int64(spec.Dims)); err != nil {
			return err
		}
		stored = store.VectorSpec{Name: spec.Name}
		var model []byte
		_, err := t.s.one(ctx, tx, stStoreDeclared, []any{[]byte(spec.Name)}, &model, &stored.Dims)
		stored.Model = string(model)
		if err == nil && t.s.d.IndexVectors != nil {
			search, err = t.s.d.IndexVectors(ctx, tx, stored)
		}
		return err
	})
	if err != nil {
		return store.VectorSpec{}, t.wrap(ctx, "declare", err)
	}
	if search != nil {
		t.searches.Store(spec.Name, search)
	}
	return stored, nil
}

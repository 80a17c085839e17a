package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// arrayHead is the size of the head of an array of one dimension, as array_send writes it. It has
// the dimensions, whether there are nulls, the type, the length and the lower bound.
const arrayHead = 20

// parseVector appends the numbers of a real[] that array_send wrote. Each has its size before it.
func parseVector(to []float32, b []byte) ([]float32, error) {
	if len(b) < arrayHead || (len(b)-arrayHead)%8 != 0 || binary.BigEndian.Uint32(b) != 1 {
		return nil, fmt.Errorf("a vector: %w: %d bytes", store.ErrDamaged, len(b))
	}
	for b = b[arrayHead:]; len(b) >= 8; b = b[8:] {
		to = append(to, math.Float32frombits(binary.BigEndian.Uint32(b[4:])))
	}
	return to, nil
}

package shape_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/shape"
)

func TestLayersThatReadOthers(t *testing.T) {
	types := shape.Types{
		{Name: "Blob", Kind: shape.Binary}, {Name: "Cents", Kind: shape.Text}, {Name: "Doc", Kind: shape.JSON}, {Name: "Euros", Kind: shape.Text},
		{Name: "Own", Kind: shape.Wire},
	}
	for _, test := range []struct {
		old, now string
		want     bool
	}{
		{"int32", "int64", true},
		{"int64", "int32", false},
		{"uint32", "int64", true},
		{"uint64", "int64", false},
		{"int8", "uint64", false},
		{"int32", "float64", true},
		{"int64", "float64", false},
		{"float64", "float32", false},
		{"int32", "string", false},
		{"[3]int", "[]int", true},
		{"[]int", "[3]int", false},
		{"[3]byte", "[]byte", true},
		{"[3]byte", "[4]byte", false},
		{"map[int8]int", "map[int64]int", true},
		{"map[string]int", "map[int64]int", false},
		{"Cents", "string", true},
		{"Doc", "string", true},
		{"Blob", "string", false},
		{"Blob", "[]byte", true},
		{"Blob", "[3]byte", false},
		{"Own", "string", false},
		{"string", "Cents", false},
		{"Cents", "Euros", false},
		{"Cents", "Cents", true},
		{"time.Time", "time.Time", true},
		{"Unknown", "Unknown", false},
	} {
		if got := types.Outer(test.now).Reads(types.Outer(test.old)); got != test.want {
			t.Errorf("%s reads %s: got %v, want %v", test.now, test.old, got, test.want)
		}
	}
}

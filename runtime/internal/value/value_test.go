package value_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/internal/value"
)

func TestIsNil(t *testing.T) {
	for name, test := range map[string]struct {
		v    any
		want bool
	}{
		"nil":           {nil, true},
		"nil error":     {error(nil), true},
		"nil pointer":   {(*int)(nil), true},
		"nil map":       {map[string]int(nil), true},
		"nil function":  {(func())(nil), true},
		"nil channel":   {(chan int)(nil), true},
		"nil slice":     {[]int(nil), true},
		"pointer":       {new(int), false},
		"empty map":     {map[string]int{}, false},
		"empty struct":  {struct{}{}, false},
		"zero number":   {0, false},
		"error":         {errors.New("x"), false},
		"struct of nil": {struct{ p *int }{}, false},
	} {
		if got := value.IsNil(test.v); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestComparable(t *testing.T) {
	for name, test := range map[string]struct {
		v    any
		want bool
	}{
		"nil":             {nil, true},
		"pointer":         {new(int), true},
		"slice":           {[]int{}, false},
		"struct":          {struct{ n int }{}, true},
		"struct of slice": {struct{ s []int }{}, false},
		"slice in an any": {struct{ v any }{[]int{}}, false},
	} {
		if got := value.Comparable(test.v); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

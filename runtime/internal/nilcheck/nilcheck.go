// Package nilcheck finds the nil pointer in an interface that is not nil itself. It reflects, so it is for what is
// called once, when a graph is compiled, and not while one runs.
package nilcheck

import "reflect"

// Is reports whether v is nil, or holds a nil pointer, map, function, channel or slice.
func Is(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return r.IsNil()
	default:
		return false
	}
}

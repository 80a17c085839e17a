// Package value inspects the contents of interface values. It uses reflection, so it is for calls
// while a graph is compiled, and not for calls while a graph runs.
package value

import "reflect"

// IsNil reports whether v is nil, or holds a nil pointer, map, function, channel or slice.
func IsNil(v any) bool {
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

// Comparable reports whether v can be compared by == without a panic.
func Comparable(v any) bool { return v == nil || reflect.ValueOf(v).Comparable() }

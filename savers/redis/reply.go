package redis

import (
	"fmt"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// reply reads what a script returned, value by value. Its first error sticks: from then on every
// method returns a zero value.
type reply struct {
	values []any
	at     int
	err    error
}

// fail notes the first error of the reply, after which nothing more is read.
func (r *reply) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("redis: a script's answer: value %d: %s: %w", r.at, fmt.Sprintf(format, args...), checkpoint.ErrDamaged)
	}
	r.at = len(r.values)
}

// check makes an error of reading what was stored the reply's.
func (r *reply) check(err error) {
	if err != nil {
		r.fail("%v", err)
	}
}

// peek returns the next value without taking it; nil for none.
func (r *reply) peek() any {
	if r.err != nil || r.at >= len(r.values) {
		return nil
	}
	return r.values[r.at]
}

// more reports whether values are left.
func (r *reply) more() bool { return r.err == nil && r.at < len(r.values) }

// next returns the next value.
func (r *reply) next() any {
	if r.at >= len(r.values) {
		r.fail("it is missing")
		return nil
	}
	r.at++
	return r.values[r.at-1]
}

// text returns the next value, which must be a string.
func (r *reply) text() string {
	v := r.next()
	s, ok := v.(string)
	if !ok && r.err == nil {
		r.fail("a %T, want a string", v)
	}
	return s
}

// number returns the next value, which must be a string of digits.
func (r *reply) number() int64 {
	s := r.text()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && r.err == nil {
		r.fail("%q, want a number", s)
	}
	return n
}

// list returns the next value, which must be a list, as a reply of its own. join takes over its
// errors.
func (r *reply) list() *reply {
	v := r.next()
	l, ok := v.([]any)
	if !ok && r.err == nil {
		r.fail("a %T, want a list", v)
	}
	return &reply{values: l, err: r.err}
}

// join makes the error of a list r's.
func (r *reply) join(l *reply) {
	if r.err == nil && l.err != nil {
		r.err = l.err
	}
}

package redis

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// reply reads what a script returned, value by value. Its first error sticks: from then on every
// method returns a zero value.
type reply struct {
	values []any
	at     int
	err    error
}

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

// optional reads a number from 0, or nothing for 0.
func (r *reply) optional() uint64 {
	if r.peek() == "" {
		r.at++
		return 0
	}
	return r.seq()
}

func (r *reply) more() bool { return r.err == nil && r.at < len(r.values) }

func (r *reply) next() any {
	if r.at >= len(r.values) {
		r.fail("there is none")
		return nil
	}
	r.at++
	return r.values[r.at-1]
}

func (r *reply) text() string {
	v := r.next()
	s, ok := v.(string)
	if !ok && r.err == nil {
		r.fail("a %T, want a string", v)
	}
	return s
}

func (r *reply) number() int64 {
	s := r.text()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && r.err == nil {
		r.fail("%q, want a number", s)
	}
	return n
}

func (r *reply) int() int { return int(r.number()) }

func (r *reply) seq() uint64 { return uint64(max(r.number(), 0)) }

func (r *reply) id() (id checkpoint.ID) {
	s := r.text()
	if len(s) != len(id) && s != "" && r.err == nil {
		r.fail("%d bytes, want an id", len(s))
	}
	copy(id[:], s)
	return id
}

// time reads microseconds; 0 is the zero time.
func (r *reply) time() time.Time {
	if n := r.number(); n != 0 {
		return codec.Time(n)
	}
	return time.Time{}
}

// list reads a list; its errors are r's only when taken by r.join.
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

// writes reads a list of pending writes and puts them in order.
func (r *reply) writes(thread string) []checkpoint.Write {
	type placed struct {
		checkpoint.Write
		order uint64
	}
	l := r.list()
	var all []placed
	for l.more() {
		base, name, value := l.id(), l.text(), l.text()
		w, order, err := decodeWrite(thread, base, name, value)
		if l.err == nil {
			l.check(err)
		}
		all = append(all, placed{w, order})
	}
	r.join(l)
	if len(all) == 0 || r.err != nil {
		return nil
	}
	slices.SortFunc(all, func(a, b placed) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	writes := make([]checkpoint.Write, len(all))
	for i := range all {
		writes[i] = all[i].Write
	}
	return writes
}

// described is a version as the server describes it.
type described struct {
	checkpoint.Thread
	leased   bool
	released time.Time
	stamp    checkpoint.ID
	rev      string
	fence    checkpoint.ID
	birth    checkpoint.ID
}

// thread reads what describe of common.lua returns.
func (r *reply) thread(id string) described {
	l := r.list()
	d := described{Thread: checkpoint.Thread{ID: id, Version: l.int(), Versions: l.int(), Status: checkpoint.Status(l.int())}}
	holder, until, ended := l.text(), l.time(), l.text() == "1"
	d.Updated, d.released = l.time(), l.time()
	root, err := parseHead(l.text())
	if l.err == nil {
		l.check(err)
	}
	d.Head, d.Step = root.id, root.step
	d.Now = l.time()
	d.stamp, d.rev = l.id(), l.text()
	d.Questions = checkpoint.OpenQuestions(l.writes(id))
	d.Created, d.Graph, d.Title = l.time(), l.text(), l.text()
	d.Labels, err = decodeLabels(l.text())
	if l.err == nil {
		l.check(err)
	}
	d.fence, d.Wake, d.Attempts = l.id(), l.time(), l.int()
	d.Posted, d.Inputs, d.Others, d.Priority = l.seq(), l.int(), l.int(), checkpoint.Priority(l.int())
	d.Cancels, d.birth = l.int(), l.id()
	if d.leased = d.released.IsZero() && !ended && d.Now.Before(until); d.leased {
		d.Holder, d.Lease = holder, until
	}
	r.join(l)
	return d
}

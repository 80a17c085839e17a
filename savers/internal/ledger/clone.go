package ledger

import (
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Normal returns r in the form that every saver returns. Fields that only a base has are empty in
// other records. Empty slices and maps are nil. Times are in UTC, to the microsecond. The result
// shares memory with r.
func Normal(r checkpoint.Record) checkpoint.Record {
	makeNormal(&r)
	return r
}

// makeNormal gives r the form that Normal returns.
func makeNormal(r *checkpoint.Record) {
	if r.Base != r.ID || len(r.Due) == 0 {
		r.Due = nil
	}
	if len(r.Ran) == 0 {
		r.Ran = nil
	}
	if len(r.PendingRoutes) == 0 {
		r.PendingRoutes = nil
	}
	if len(r.Joins) == 0 {
		r.Joins = nil
	}
	if len(r.ClearedStops) == 0 {
		r.ClearedStops = nil
	}
	if len(r.Meta) == 0 {
		r.Meta = nil
	}
	r.Created = Micro(r.Created)
}

// Micro returns t in UTC, to the microsecond, without the monotonic clock.
func Micro(t time.Time) time.Time {
	t = t.UTC().Round(0)
	if over := t.Nanosecond() % 1000; over != 0 {
		t = t.Add(-time.Duration(over))
	}
	return t
}

// Clone returns r, normal, sharing no memory with it.
func Clone(r checkpoint.Record) checkpoint.Record {
	Detach(&r, Room{})
	return r
}

// Room is memory for parts of one record. All of it must be zero.
type Room struct {
	Due []checkpoint.Task
	Ran []string
}

// Detach makes r normal, and gives it memory that it shares with no other. Parts that fit go to
// room.
func Detach(r *checkpoint.Record, room Room) {
	makeNormal(r)
	r.Payload = CloneBytes(r.Payload)
	if r.Ran != nil {
		r.Ran = slices.Clip(append(room.Ran[:0], r.Ran...))
	}
	r.PendingRoutes = cloneNames(r.PendingRoutes)
	r.ClearedStops = cloneNames(r.ClearedStops)
	if r.Due != nil {
		r.Due = slices.Clip(append(room.Due[:0], r.Due...))
		for i := range r.Due {
			r.Due[i].Payload = CloneBytes(r.Due[i].Payload)
		}
	}
	if r.Joins != nil {
		joins := make([]checkpoint.Join, len(r.Joins))
		for i, j := range r.Joins {
			joins[i] = checkpoint.Join{To: j.To, Fired: cloneNames(j.Fired)}
		}
		r.Joins = joins
	}
	if r.Meta != nil {
		meta := make(map[string]string, len(r.Meta))
		for k, v := range r.Meta {
			meta[k] = v
		}
		r.Meta = meta
	}
}

// CloneWrites returns the writes, sharing no memory with them.
func CloneWrites(writes []checkpoint.Write) []checkpoint.Write {
	if len(writes) == 0 {
		return nil
	}
	clone := slices.Clip(slices.Clone(writes))
	for i := range clone {
		clone[i].Payload = CloneBytes(clone[i].Payload)
	}
	return clone
}

// CloneBytes returns a copy of b without spare capacity, in which those who share the copy could
// meet.
func CloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	clone := make([]byte, len(b))
	copy(clone, b)
	return clone
}

// cloneNames returns a copy of names.
func cloneNames(s []string) []string { return slices.Clip(slices.Clone(s)) }

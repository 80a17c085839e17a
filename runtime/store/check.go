package store

import (
	"fmt"
	"strconv"
)

// CheckOps returns an [*InvalidError] for the first value in ops that no backend accepts, or nil.
// Every backend calls it first.
func CheckOps(ops []Op) error {
	if len(ops) > MaxOps {
		return &InvalidError{"batch", strconv.Itoa(len(ops)) + " operations", fmt.Sprintf("at most %d", MaxOps)}
	}
	for i := range ops {
		if err := ops[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (op *Op) check() error {
	if op.Kind < OpGet || op.Kind > OpVectors {
		return &InvalidError{"kind", strconv.Itoa(int(op.Kind)), "OpGet, OpPut, OpDelete, OpIndex or OpVectors"}
	}
	if err := op.Namespace.check("namespace", false); err != nil {
		return err
	}
	write := op.Kind == OpPut || op.Kind == OpDelete
	switch {
	case op.Key == "" || len(op.Key) > MaxKey:
		return &InvalidError{"key", strconv.Itoa(len(op.Key)) + " bytes", fmt.Sprintf("1 to %d", MaxKey)}
	case len(op.Value) > MaxValue:
		return &InvalidError{"value", strconv.Itoa(len(op.Value)) + " bytes", fmt.Sprintf("at most %d", MaxValue)}
	case len(op.Once) > MaxOnce || op.Once != "" && !write:
		return &InvalidError{"once", strconv.Itoa(len(op.Once)) + " bytes", fmt.Sprintf("1 to %d, for a put or a delete", MaxOnce)}
	case op.IfVersion < 0 || op.IfVersion > 0 && (op.Kind == OpGet || op.Kind == OpVectors):
		return &InvalidError{"if version", strconv.FormatInt(op.IfVersion, 10), "the version of an item, for a write"}
	case op.IfAbsent && (op.Kind != OpPut || op.IfVersion != 0):
		return &InvalidError{"if absent", "set with a version, or not for a put", "either IfAbsent or IfVersion"}
	case op.Refresh && op.Kind != OpGet:
		return &InvalidError{"refresh", "set for a write", "it for a read"}
	}
	if err := op.checkExpiry(); err != nil {
		return err
	}
	if err := op.checkVectors(); err != nil {
		return err
	}
	if err := op.checkTexts(); err != nil {
		return err
	}
	return op.checkIndex()
}

func (op *Op) checkExpiry() error {
	set := 0
	for _, is := range [...]bool{op.TTL != 0, !op.ExpireAt.IsZero(), op.KeepExpiry} {
		if is {
			set++
		}
	}
	switch {
	case op.TTL < 0 || op.TTL > 0 && op.TTL.Microseconds() == 0:
		return &InvalidError{"ttl", op.TTL.String(), "at least a microsecond"}
	case set > 1 || set > 0 && op.Kind != OpPut:
		return &InvalidError{"expiry", "several, or not for a put", "at most one of TTL, ExpireAt and KeepExpiry"}
	}
	return nil
}

func (op *Op) checkIndex() error {
	if len(op.Index) > MaxEntries {
		return &InvalidError{"index", strconv.Itoa(len(op.Index)) + " entries", fmt.Sprintf("at most %d", MaxEntries)}
	}
	for i := range op.Index {
		e := &op.Index[i]
		if err := checkIndexName(e.Index); err != nil {
			return err
		}
		if len(e.Value) > MaxIndexValue {
			return &InvalidError{
				fmt.Sprintf("index %q", e.Index), strconv.Itoa(len(e.Value)) + " bytes",
				fmt.Sprintf("at most %d; index a shorter form of the field", MaxIndexValue),
			}
		}
	}
	return nil
}

func checkIndexName(name string) error {
	if name == "" || len(name) > MaxIndexName {
		return &InvalidError{"index name", strconv.Itoa(len(name)) + " bytes", fmt.Sprintf("1 to %d", MaxIndexName)}
	}
	return nil
}

// Check returns an [*InvalidError] for the first value in q that no backend accepts, or nil.
func (q *Query) Check() error {
	if q.Limit < 1 || q.Limit > MaxPage {
		return &InvalidError{"limit", strconv.Itoa(q.Limit), fmt.Sprintf("1 to %d", MaxPage)}
	}
	if err := q.Namespace.check("namespace", !q.Exact); err != nil {
		return err
	}
	if q.After != nil {
		if err := q.After.Namespace.check("after", true); err != nil {
			return err
		}
	}
	ranges := 0
	for i := range q.Where {
		if err := checkIndexName(q.Where[i].Index); err != nil {
			return err
		}
		ranges += len(q.Where[i].Ranges)
	}
	if ranges > MaxRanges {
		return &InvalidError{"where", strconv.Itoa(ranges) + " ranges", fmt.Sprintf("at most %d", MaxRanges)}
	}
	return nil
}

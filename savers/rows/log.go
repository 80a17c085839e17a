package rows

import (
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// log is the log of a namespace of a version.
type log struct {
	id        string // of the thread
	namespace string
	prefix    []byte // of the keys of its records
}

// logOf returns the log of a namespace in the version of a thread with the root r.
func logOf(id string, r root, namespace string) log { return log{id, namespace, r.log(namespace)} }

// key returns the key of the record that follows another one; zero for the first.
func (l *log) key(before checkpoint.ID) []byte {
	return append(l.prefix[:len(l.prefix):len(l.prefix)], before[:]...)
}

// lastKey is key for the last key of l that is needed: it takes the room behind the prefix.
func (l *log) lastKey(before checkpoint.ID) []byte { return append(l.prefix, before[:]...) }

// name returns the key of the row of Logs that has the namespace.
func (l *log) name() []byte {
	n := len(root{})
	return append(append(make([]byte, 0, len(l.prefix)), l.prefix[:n]...), l.prefix[n+1:]...)
}

// all selects the records of the log, oldest first.
func (l *log) all() Range { return within(Key{Records, l.id, l.prefix}) }

// head selects the row with the newest record.
func (l *log) head() Range { return last(l.all()) }

// after names the row of the record that follows a record, unless both are in a pack.
func (l *log) after(id checkpoint.ID) Key { return Key{Records, l.id, l.key(id)} }

// upTo selects the row that has a record, if the log has it, and the rows before, newest first.
func (l *log) upTo(id checkpoint.ID, limit int) Range {
	return Range{Key: Key{Records, l.id, l.prefix}, To: l.key(id), Reverse: true, Limit: limit}
}

// unpack returns the records of a row, oldest first.
func (l *log) unpack(r *Row) ([]pack.Record, error) {
	single, several, err := r.records()
	if err != nil {
		return nil, of(l.id, err)
	}
	return l.expand(r, single, several)
}

// expand returns the record of a row, or those of its pack, oldest first.
func (l *log) expand(r *Row, single *checkpoint.Record, several *packRow) ([]pack.Record, error) {
	if several == nil {
		return []pack.Record{{Record: *single}}, nil
	}
	all, err := pack.Decode(several.in(l), several.body)
	if err == nil && (len(all) == 0 || all[0].Seq != several.first || all[len(all)-1].Seq != several.last) {
		err = damaged(r.Key, errPack)
	}
	return all, of(l.id, err)
}

// errPack is what is wrong with a pack that has other records than its row says.
var errPack = errors.New("the pack has other records than its row says; restore the thread from a backup")

// last returns the newest record of a row.
func (l *log) last(r *Row) (*checkpoint.Record, error) {
	all, err := l.unpack(r)
	if err != nil {
		return nil, err
	}
	return &all[len(all)-1].Record, nil
}

// records returns the records of rows, newest first, as the rows are. It sets Committed of each
// record that the next newer one commits. The newest record has only what its row says.
func (l *log) records(rows []Row) (all []pack.Record, err error) {
	for i := range rows {
		in, err := l.unpack(&rows[i])
		if err != nil {
			return nil, err
		}
		for j := len(in) - 1; j >= 0; j-- {
			r := in[j]
			if n := len(all); n > 0 {
				r.Committed = r.Committed || all[n-1].Commits == r.ID
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// from returns the records of the rows of upTo from a record on, newest first; none if the log
// does not have it.
func (l *log) from(id checkpoint.ID, upTo []Row) ([]pack.Record, error) {
	all, err := l.records(upTo)
	at := slices.IndexFunc(all, func(r pack.Record) bool { return r.ID == id })
	if err != nil || at < 0 {
		return nil, err
	}
	return all[at:], nil
}

// find returns the record with an id among the rows of upTo, or nil.
func (l *log) find(id checkpoint.ID, upTo []Row) (*pack.Record, error) {
	if len(upTo) == 0 {
		return nil, nil
	}
	all, err := l.unpack(&upTo[0])
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, nil
}

// commits reports whether the record after a base commits it. That record is in the row after, or
// in the row of the base, which upTo has.
func (l *log) commits(base checkpoint.ID, after, upTo []Row) (bool, error) {
	if len(after) > 0 {
		all, err := l.unpack(&after[0])
		return err == nil && all[0].Commits == base, err
	}
	found, err := l.find(base, upTo)
	return found != nil && found.Committed, err
}

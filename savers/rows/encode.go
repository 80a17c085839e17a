package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// A value is what a row has, decoded.
type value interface {
	// appendTo appends the stored form of the value of the row with a key. It ends with a checksum
	// of the key and the value.
	appendTo(b, key []byte) []byte
}

// recordRow is the value of a row of Records.
type recordRow struct{ checkpoint.Record }

// appendTo appends the stored form of r. The key has the id of the record before it.
func (r *recordRow) appendTo(b, key []byte) []byte {
	from := len(b)
	b = append(b, oneRecord)
	before := recordBefore(key)
	b = codec.AppendHeader(b, &r.Record, &before)
	return seal(codec.AppendBody(b, &r.Record), from, key)
}

// room returns an empty slice that has room for the stored form of most records.
func (r *recordRow) room() []byte {
	n := 64 + len(r.Graph) + len(r.Payload)
	for i := range r.Due {
		n += 8 + len(r.Due[i].Node) + len(r.Due[i].Payload)
	}
	return make([]byte, 0, n)
}

// The first byte of the value of a row of Records.
const (
	oneRecord = 1
	packed    = 2
)

// recordBefore is what a key says of the record before.
func recordBefore(key []byte) checkpoint.Record {
	r := checkpoint.Record{ID: before(key), Created: time.UnixMicro(0)}
	if r.Base = r.ID; !r.ID.IsZero() {
		r.Created = r.ID.Time()
	}
	return r
}

// before is the id of the record before, at the end of a key of Records.
func before(key []byte) checkpoint.ID { return checkpoint.ID(key[len(key)-idSize:]) }

// packRow is the value of a row of Records with several records that follow each other.
type packRow struct {
	first, last uint64 // their Seq
	body        []byte // in the form of package pack
}

// appendTo appends the encoded value with its checksum. key is that of its row.
func (p *packRow) appendTo(b, key []byte) []byte {
	from := len(b)
	b = binary.AppendUvarint(binary.AppendUvarint(append(b, packed), p.first), p.last)
	return seal(append(b, p.body...), from, key)
}

// in returns the place of the pack in a log, which its checksum has.
func (p *packRow) in(l *log) pack.Place {
	return pack.Place{Thread: l.id, Namespace: l.namespace, First: p.first, Last: p.last}
}

// records returns the record of a row, or the pack.
func (r *Row) records() (single *checkpoint.Record, several *packRow, err error) {
	single = new(checkpoint.Record)
	several, err = r.decode(single, true)
	if several != nil || err != nil {
		single = nil
	}
	return single, several, err
}

// payload returns the payload of the record of a row, and whether it is a snapshot, or the pack.
func (r *Row) payload() (payload []byte, snapshot bool, several *packRow, err error) {
	var rec checkpoint.Record
	several, err = r.decode(&rec, false)
	return rec.Payload, rec.Snapshot, several, err
}

// decode sets single to the record of a row, or returns the pack. If whole is false, the record
// has its header and its payload only.
func (r *Row) decode(single *checkpoint.Record, whole bool) (several *packRow, err error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return nil, err
	}
	in := codec.NewReader(body)
	switch kind := in.Byte(); kind {
	case oneRecord:
		before := recordBefore(r.Key)
		if *single = in.Header(&before); whole {
			in.Body(single)
		} else {
			single.Payload = in.Payload()
		}
		if err = in.End(); err == nil {
			return nil, nil
		}
	case packed:
		p := &packRow{first: in.Uvarint(), last: in.Uvarint()}
		if err = in.Err(); err == nil {
			p.body = body[in.Offset():]
			return p, nil
		}
	default:
		err = fmt.Errorf("a record of kind %d", kind)
	}
	return nil, damaged(r.Key, err)
}

// name is the value of a row of Logs: a namespace.
type name string

// appendTo appends the encoded value with its checksum. key is that of its row.
func (n name) appendTo(b, key []byte) []byte { return seal(append(b, n...), len(b), key) }

// name returns the namespace of a row.
func (r *Row) name() (string, error) {
	body, err := unseal(r.Value, r.Key)
	return string(body), err
}

// writeRow is the value of a row of Writes.
type writeRow struct {
	checkpoint.Write
	Order uint64 // grows with the writes of a thread
}

// appendTo appends the encoded value with its checksum. key is that of its row.
func (w *writeRow) appendTo(b, key []byte) []byte {
	from := len(b)
	return seal(codec.AppendWrite(binary.AppendUvarint(b, w.Order), &w.Write, nil), from, key)
}

// write returns the pending write of a row.
func (r *Row) write() (*writeRow, error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return nil, err
	}
	in := codec.NewReader(body)
	w := &writeRow{Order: in.Uvarint(), Write: in.Write(nil)}
	if err := in.End(); err != nil {
		return nil, damaged(r.Key, err)
	}
	return w, nil
}

// mark is the value of a row of Writes which says that its base is committed.
type mark struct{}

// appendTo appends the encoded value with its checksum. key is that of its row.
func (mark) appendTo(b, key []byte) []byte { return seal(b, len(b), key) }

// messageRow is the value of a row of Messages.
type messageRow struct{ checkpoint.Message }

// appendTo appends the encoded value with its checksum. key is that of its row.
func (m *messageRow) appendTo(b, key []byte) []byte {
	from := len(b)
	b = binary.AppendUvarint(b, m.Number)
	b = append(b, byte(m.Kind), byte(flag(m.Taken)))
	b = binary.AppendVarint(b, micro(m.Posted))
	for _, s := range [...]string{m.ID, m.Name, m.Key, m.Refused} {
		b = codec.AppendString(b, s)
	}
	return seal(codec.AppendBytes(b, m.Payload), from, key)
}

// message returns the message of a row.
func (r *Row) message() (checkpoint.Message, error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return checkpoint.Message{}, err
	}
	in := codec.NewReader(body)
	m := checkpoint.Message{Number: in.Uvarint(), Kind: checkpoint.MessageKind(in.Byte()), Taken: in.Byte() == 1, Posted: moment(in.Varint())}
	m.ID, m.Name, m.Key, m.Refused, m.Payload = in.String(), in.String(), in.String(), in.String(), in.Bytes()
	if err := in.End(); err != nil {
		return checkpoint.Message{}, damaged(r.Key, err)
	}
	return m, nil
}

// place is the value of a row of Messages that finds a message by its id.
type place struct {
	number  uint64
	handled uint64 // the count of its row among the handled messages; 0 if it is untaken
}

// appendTo appends the encoded value with its checksum. key is that of its row.
func (p place) appendTo(b, key []byte) []byte {
	from := len(b)
	return seal(binary.AppendUvarint(binary.AppendUvarint(b, p.number), p.handled), from, key)
}

// place returns where the message of a row is.
func (r *Row) place() (place, error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return place{}, err
	}
	in := codec.NewReader(body)
	p := place{in.Uvarint(), in.Uvarint()}
	if err := in.End(); err != nil {
		return place{}, damaged(r.Key, err)
	}
	return p, nil
}

// version is the value of a row of Versions: a released version. One that is read of a Thread is
// the open version.
type version struct {
	number   int
	root     root
	status   checkpoint.Status
	updated  time.Time
	released time.Time     // zero if it is open
	head     checkpoint.ID // of the root
	records  int           // of the root
}

// appendTo appends the encoded value with its checksum. key is that of its row.
func (v *version) appendTo(b, key []byte) []byte {
	from := len(b)
	b = append(binary.AppendUvarint(b, uint64(v.number)), v.root[:]...)
	b = append(append(b, byte(v.status)), v.head[:]...)
	b = binary.AppendVarint(binary.AppendVarint(b, micro(v.updated)), micro(v.released))
	return seal(binary.AppendUvarint(b, uint64(v.records)), from, key)
}

// version returns the version of a row.
func (r *Row) version() (version, error) {
	body, err := unseal(r.Value, r.Key)
	if err != nil {
		return version{}, err
	}
	in := codec.NewReader(body)
	v := version{number: in.Int()}
	copy(v.root[:], in.Fixed(len(v.root)))
	v.status, v.head = checkpoint.Status(in.Byte()), in.ID()
	v.updated, v.released, v.records = moment(in.Varint()), moment(in.Varint()), in.Int()
	if err := in.End(); err != nil {
		return version{}, damaged(r.Key, err)
	}
	return v, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends the checksum of a row to b: of its key and its value, which is b[from:].
func seal(b []byte, from int, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b[from:]))
}

// unseal returns a value without its checksum.
func unseal(b, key []byte) ([]byte, error) {
	n := len(b) - 4
	if n < 0 || binary.LittleEndian.Uint32(b[n:]) != crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b[:n]) {
		return nil, damaged(key, errSum)
	}
	return b[:n:n], nil
}

var errSum = fmt.Errorf("its checksum is that of other data; restore it from a backup")

// damaged returns the ErrDamaged of a row.
func damaged(key []byte, err error) error {
	if len(key) > 64 {
		key = key[:64]
	}
	return fmt.Errorf("the row %q: %w: %w", key, checkpoint.ErrDamaged, err)
}

// idSize is the length of an id.
const idSize = len(checkpoint.ID{})

// root is what the keys of a version begin with. It comes from the id of the first record: its
// time, so that new versions are next to each other, and its random bits. The number of the
// version is added, because the first record of a released version may be sent again.
type root [12]byte

// rootOf returns the root of a version whose first record has the id first.
func rootOf(first checkpoint.ID, version int) (r root) {
	copy(r[:6], first[:6])
	copy(r[6:], first[10:])
	binary.BigEndian.PutUint32(r[8:], binary.BigEndian.Uint32(r[8:])^uint32(version))
	return r
}

// hash returns the first n bytes of the SHA-256 of strings.
func hash(n int, parts ...string) []byte {
	var room [256]byte
	b := room[:0]
	for _, p := range parts {
		b = codec.AppendString(b, p)
	}
	sum := sha256.Sum256(b)
	return append(make([]byte, 0, n+32), sum[:n]...)
}

// threadKey returns the key of the row of a thread.
func threadKey(id string) Key { return Key{Table: Threads, Thread: id, Bytes: []byte(id)} }

// log returns what the keys of the records of a log begin with.
func (r root) log(namespace string) []byte {
	b := append(make([]byte, 0, len(r)+9+idSize), r[:]...)
	if namespace == "" {
		return append(b, 0)
	}
	return append(append(b, 1), hash(8, namespace)...)
}

// base returns what the keys of the pending writes of a base begin with.
func (r root) base(id checkpoint.ID) []byte {
	return append(append(make([]byte, 0, len(r)+2*idSize), r[:]...), id[:]...)
}

// write returns the key of a pending write.
func (r root) write(w *checkpoint.Write) []byte {
	return append(r.base(w.Base), hash(idSize, w.Namespace, w.Task, w.Name, string(rune(w.Kind)))...)
}

// mark returns the key of the mark that a base is committed.
func (r root) mark(base checkpoint.ID) []byte { return append(r.base(base), make([]byte, idSize)...) }

// isMark reports whether a key of Writes is a mark.
func isMark(key []byte) bool { return checkpoint.ID(key[len(key)-idSize:]).IsZero() }

// baseOf is the base in a key of Writes.
func baseOf(key []byte) checkpoint.ID { return checkpoint.ID(key[len(key)-2*idSize : len(key)-idSize]) }

// The kinds of keys of Messages.
const (
	untaken = 'u' // with the number
	handled = 'h' // with how many messages were handled before and with this one
	byID    = 'i' // with a hash of the id
)

// threadHash returns the hash of a thread id, with which the keys of messages and versions begin.
func threadHash(id string) []byte { return hash(idSize, id) }

// messageKey returns the key of a row of Messages with a number. kind is untaken or handled.
func messageKey(id string, kind byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(threadHash(id), kind), n)
}

// messageIDKey returns the key of the row that finds a message of a thread by its id.
func messageIDKey(id, message string) []byte {
	return append(append(threadHash(id), byID), hash(idSize, message)...)
}

// versionKey returns the key of the row of a released version.
func versionKey(id string, number int) []byte {
	return binary.BigEndian.AppendUint64(threadHash(id), uint64(number))
}

// after returns the least key that is greater than all keys with a prefix.
func after(prefix []byte) []byte {
	b := bytes.Clone(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return b[:i+1]
		}
	}
	return bytes.Repeat([]byte{0xff}, MaxKey+1)
}

// successor returns the least key after a key. It does not write behind the key, which a Store may
// keep.
func successor(key []byte) []byte { return append(slices.Clip(key), 0) }

// within selects all rows whose keys begin with that of k.
func within(k Key) Range { return Range{Key: k, To: after(k.Bytes)} }

// point selects the row with a key.
func point(k Key) Range { return Range{Key: k} }

// last selects the row with the greatest key of r.
func last(r Range) Range {
	r.Limit, r.Reverse = 1, true
	return r
}

// micro returns a time in microseconds as rows store it; 0 for no time.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment returns the time that micro has encoded.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return codec.Time(n)
}

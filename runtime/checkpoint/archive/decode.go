package archive

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// decode reads the data of one frame. The reader copies strings and payloads out of data, so that
// a small payload does not keep a large item in memory.
func decode[T any](data []byte, name string, read func(r *wire.Reader, v *T)) (v T, err error) {
	r := wire.NewReader(name, data)
	read(&r, &v)
	err = r.End()
	return v, err
}

func readVersion(r *wire.Reader, v *checkpoint.Version) {
	r.FixedArray(versionFields)
	v.Thread, v.Number, v.Released, v.Head = r.Str(), r.Int(), r.Time(), readID(r)
	v.Records, v.Status = r.Int(), checkpoint.Status(r.Uint8())
}

func readThread(r *wire.Reader, t *checkpoint.Thread) {
	r.FixedArray(threadFields)
	t.ID, t.Version, t.Status, t.Holder = r.Str(), r.Int(), checkpoint.Status(r.Uint8()), r.Str()
	t.Lease, t.Head, t.Step, t.Updated = r.Time(), readID(r), r.Int(), r.Time()
	t.Versions, t.Wake, t.Attempts, t.Graph = r.Int(), r.Time(), r.Int(), r.Str()
	t.Created, t.Title, t.Labels, t.Priority = r.Time(), r.Str(), readMap(r), checkpoint.Priority(r.Uint8())
	t.Posted, t.Inputs, t.Others, t.Cancels = r.Uint64(), r.Int(), r.Int(), r.Int()
}

func readRecord(r *wire.Reader, rec *checkpoint.NamespaceRecord) {
	r.FixedArray(recordFields)
	rec.Namespace, rec.ID, rec.Seq, rec.Parent = r.Str(), readID(r), r.Uint64(), readID(r)
	rec.Base, rec.Line, rec.Commits = readID(r), readID(r), readID(r)
	rec.Step, rec.Source, rec.Ran = r.Int(), checkpoint.Source(r.Uint8()), readStrings(r)
	rec.Due = readList(r, func(t *checkpoint.Task) {
		r.FixedArray(3)
		t.Node, t.Index, t.Payload = r.Str(), r.Uint32(), r.Bytes()
	})
	rec.PendingRoutes = readStrings(r)
	rec.Joins = readList(r, func(j *checkpoint.Join) {
		r.FixedArray(2)
		j.To, j.Fired = r.Str(), readStrings(r)
	})
	rec.ClearedStops, rec.Request, rec.Fingerprint, rec.Graph = readStrings(r), r.Str(), r.Uint64(), r.Str()
	rec.Meta, rec.Created = readMap(r), r.Time()
	r.FixedArray(2)
	rec.Snapshot, rec.Payload = r.Bool(), r.Bytes()
}

func readWrite(r *wire.Reader, w *checkpoint.Write) {
	r.FixedArray(writeFields)
	w.Namespace, w.Base, w.Task = r.Str(), readID(r), r.Str()
	w.Kind, w.Name, w.Payload = checkpoint.Kind(r.Uint8()), r.Str(), r.Bytes()
}

func readMessage(r *wire.Reader, m *checkpoint.Message) {
	r.FixedArray(messageFields)
	m.Number, m.ID, m.Kind = r.Uint64(), r.Str(), checkpoint.MessageKind(r.Uint8())
	m.Name, m.Key, m.Payload, m.Posted = r.Str(), r.Str(), r.Bytes(), r.Time()
	m.Taken, m.Refused = r.Bool(), r.Str()
}

func readID(r *wire.Reader) (id checkpoint.ID) {
	if !r.Nil() {
		r.FixedBytes(id[:])
	}
	return id
}

func readStrings(r *wire.Reader) []string {
	return readList(r, func(s *string) { *s = r.Str() })
}

// readList returns nil for an empty list.
func readList[T any](r *wire.Reader, read func(*T)) []T {
	n := r.ArrayLen()
	if n == 0 || !r.OK() {
		return nil
	}
	all := wire.MakeSlice[T](r, n)
	for len(all) < n && r.OK() {
		all = append(all, *new(T))
		read(&all[len(all)-1])
	}
	return all
}

// readMap returns nil for an empty map.
func readMap(r *wire.Reader) map[string]string {
	n := r.MapLen()
	if n == 0 || !r.OK() {
		return nil
	}
	all := wire.MakeMap[string, string](r, n)
	for range n {
		name := r.Str()
		value := r.Str()
		if !r.OK() {
			return nil
		}
		all[name] = value
	}
	return all
}

package archive

import (
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// The number of elements of each kind of data. The functions of this file and of decode.go list
// them in order.
const (
	versionFields = 6
	threadFields  = 20
	recordFields  = 18
	writeFields   = 6
	messageFields = 9
)

func appendVersion(b []byte, v *checkpoint.Version) []byte {
	b = wire.AppendArrayLen(b, versionFields)
	b = wire.AppendInt(wire.AppendString(b, v.Thread), int64(v.Number))
	b = appendID(wire.AppendTime(b, v.Released), v.Head)
	return wire.AppendUint(wire.AppendInt(b, int64(v.Records)), uint64(v.Status))
}

func appendThread(b []byte, t *checkpoint.Thread) []byte {
	b = wire.AppendArrayLen(b, threadFields)
	b = wire.AppendInt(wire.AppendString(b, t.ID), int64(t.Version))
	b = wire.AppendString(wire.AppendUint(b, uint64(t.Status)), t.Holder)
	b = appendID(wire.AppendTime(b, t.Lease), t.Head)
	b = wire.AppendTime(wire.AppendInt(b, int64(t.Step)), t.Updated)
	b = wire.AppendTime(wire.AppendInt(b, int64(t.Versions)), t.Wake)
	b = wire.AppendString(wire.AppendInt(b, int64(t.Attempts)), t.Graph)
	b = wire.AppendString(wire.AppendTime(b, t.Created), t.Title)
	b = wire.AppendUint(appendMap(b, t.Labels), uint64(t.Priority))
	b = wire.AppendInt(wire.AppendUint(b, t.Posted), int64(t.Inputs))
	return wire.AppendInt(wire.AppendInt(b, int64(t.Others)), int64(t.Cancels))
}

func appendRecord(b []byte, r *checkpoint.NamespaceRecord) []byte {
	b = wire.AppendString(wire.AppendArrayLen(b, recordFields), r.Namespace)
	b = appendID(wire.AppendUint(appendID(b, r.ID), r.Seq), r.Parent)
	b = appendID(appendID(appendID(b, r.Base), r.Line), r.Commits)
	b = wire.AppendUint(wire.AppendInt(b, int64(r.Step)), uint64(r.Source))
	b = appendStrings(b, r.Ran)
	b = wire.AppendArrayLen(b, len(r.Due))
	for _, t := range r.Due {
		b = wire.AppendString(wire.AppendArrayLen(b, 3), t.Node)
		b = wire.AppendBytes(wire.AppendUint(b, uint64(t.Index)), t.Payload)
	}
	b = wire.AppendArrayLen(appendStrings(b, r.PendingRoutes), len(r.Joins))
	for _, j := range r.Joins {
		b = appendStrings(wire.AppendString(wire.AppendArrayLen(b, 2), j.To), j.Fired)
	}
	b = wire.AppendString(appendStrings(b, r.ClearedStops), r.Request)
	b = wire.AppendString(wire.AppendUint(b, r.Fingerprint), r.Graph)
	b = wire.AppendTime(appendMap(b, r.Meta), r.Created)
	// Snapshot and Payload are one element: a pair.
	return wire.AppendBytes(wire.AppendBool(wire.AppendArrayLen(b, 2), r.Snapshot), r.Payload)
}

func appendWrite(b []byte, w *checkpoint.Write) []byte {
	b = wire.AppendString(wire.AppendArrayLen(b, writeFields), w.Namespace)
	b = wire.AppendString(appendID(b, w.Base), w.Task)
	b = wire.AppendString(wire.AppendUint(b, uint64(w.Kind)), w.Name)
	return wire.AppendBytes(b, w.Payload)
}

func appendMessage(b []byte, m *checkpoint.Message) []byte {
	b = wire.AppendUint(wire.AppendArrayLen(b, messageFields), m.Number)
	b = wire.AppendUint(wire.AppendString(b, m.ID), uint64(m.Kind))
	b = wire.AppendString(wire.AppendString(b, m.Name), m.Key)
	b = wire.AppendTime(wire.AppendBytes(b, m.Payload), m.Posted)
	return wire.AppendString(wire.AppendBool(b, m.Taken), m.Refused)
}

func appendID(b []byte, id checkpoint.ID) []byte {
	if id.IsZero() {
		return wire.AppendNil(b)
	}
	return wire.AppendBytes(b, id[:])
}

func appendStrings(b []byte, all []string) []byte {
	b = wire.AppendArrayLen(b, len(all))
	for _, s := range all {
		b = wire.AppendString(b, s)
	}
	return b
}

func appendMap(b []byte, m map[string]string) []byte {
	b = wire.AppendMapLen(b, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = wire.AppendString(wire.AppendString(b, name), m[name])
	}
	return b
}

package journal

import "github.com/graphgen-go/graphgen/runtime/wire"

// Stop is a static stop that holds a run.
type Stop struct {
	Path  []PathElement // of the subgraph calls that lead to the node
	Node  string
	After bool // else before the node
}

// AppendStops appends stops.
func AppendStops(b []byte, stops []Stop) []byte {
	b = wire.AppendArrayLen(b, len(stops))
	for _, s := range stops {
		b = wire.AppendArrayLen(b, 3)
		b = appendPath(b, s.Path)
		b = wire.AppendBool(wire.AppendString(b, s.Node), s.After)
	}
	return b
}

// ReadStops reads what AppendStops wrote. No bytes are no stops.
func ReadStops(b []byte) (stops []Stop, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := wire.NewReader("stops", b)
	for range r.ArrayLen() {
		var s Stop
		r.FixedArray(3)
		s.Path = readPath(&r)
		s.Node, s.After = r.Str(), r.Bool()
		if !r.OK() {
			break
		}
		stops = append(stops, s)
	}
	err = r.End()
	if !r.Framed() {
		return nil, err
	}
	return stops, nil
}

// SetStops notes in a record the stops that hold the run there.
func SetStops(meta map[string]string, stops []Stop) {
	meta[metaStops] = string(AppendStops(nil, stops))
}

// Stops returns what SetStops noted, encoded; nil for nothing.
func Stops(meta map[string]string) []byte { return []byte(meta[metaStops]) }

// KeepStops makes the stops of one record those of another one.
func KeepStops(meta, before map[string]string) map[string]string {
	stops, ok := before[metaStops]
	if !ok {
		return meta
	}
	if meta == nil {
		meta = make(map[string]string, 1)
	}
	meta[metaStops] = stops
	return meta
}

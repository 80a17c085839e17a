package graphtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
)

// addPayloads adds the payloads of a node.
func (fs *facts) addPayloads(p *graph.NodePayloads) {
	under := func(words ...string) func(path, of string) {
		words = append([]string{factNode, p.Graph, string(p.Node)}, words...)
		return func(path, of string) { fs.add(append(slices.Clone(words), path, of)...) }
	}
	if p.Input.Type != "" {
		addPayload(p.Input, under(hasPayload))
	}
	for _, q := range p.Questions {
		addPayload(q.Question, under(hasAsks, q.Name, "asks"))
		addPayload(q.Answer, under(hasAsks, q.Name, "answer"))
	}
	for _, s := range p.Signals {
		addPayload(s.Payload, under(hasSignal, s.Name))
	}
}

// addPayload calls add with each place in a payload, and with the type that is stored there. A
// former name of a field is a place, too, because it is also read.
func addPayload(p shape.Payload, add func(path, of string)) {
	open := make(map[string]bool)
	var walk func(path, text string)
	walk = func(path, text string) {
		if open[text] {
			add(path, "recursive")
			return
		}
		if p.Types.Find(text) != nil {
			open[text] = true
			defer delete(open, text)
		}
		layer := p.Types.Outer(text)
		t := layer.Type
		switch {
		case t != nil && t.Kind == shape.Struct:
			add(path, "struct")
			for _, f := range t.Fields {
				for _, name := range append([]string{f.Wire}, f.Was...) {
					walk(strings.TrimSuffix(path, ".")+"."+name, f.Type)
				}
			}
		case t != nil && t.Kind == shape.Union:
			add(path, "union")
			for _, m := range t.Members {
				walk(path+"("+m.Tag+")", strings.TrimPrefix(m.Type, "*")) // a pointer in Go only
			}
		case t != nil:
			add(path, string(t.Kind)+":"+t.Name)
		case layer.Kind == "list":
			walk(path+"["+layer.Len+"]", layer.Elem)
		case layer.Kind == "map":
			walk(path+"{"+layer.Key+"}", layer.Elem)
		case layer.Kind == "pointer":
			walk(path+"*", layer.Elem)
		case layer.Kind == "":
			add(path, "unknown")
		default:
			add(path, layer.Kind+layer.Len)
		}
	}
	walk(".", p.Type)
}

// otherPayload returns how a place in a payload has changed, and whether stored payloads cannot be
// read. The last words of f are the place and its type.
func (fs *facts) otherPayload(f fact) (how string, breaks bool) {
	of, place, was := f[:len(f)-2], f[len(f)-2], f[len(f)-1]
	now := "nothing that reads it"
	for _, other := range fs.all {
		if len(other) != len(f) || !slices.Equal(other[:len(of)], of) {
			continue
		}
		at, is := other[len(f)-2], other[len(f)-1]
		switch {
		case readsPlace(steps(place), steps(at)) && leaf(is).Reads(leaf(was)):
			return fmt.Sprintf("reads %s at %q as %s at %q", was, place, is, at), false
		case at == place:
			now = is
		}
	}
	return fmt.Sprintf("has %s at %q, and stored ones have %s; keep the type and add a field of another name, or list the name in the was option of a renamed field",
		now, place, was), true
}

// steps splits a place in a payload: a field, a member, the elements of a list or a map, or what a
// pointer points to.
func steps(place string) (all []string) {
	for place = strings.TrimPrefix(place, "."); place != ""; {
		end := len(place)
		if i := strings.IndexAny(place[1:], ".[{(*"); i >= 0 {
			end = i + 1
		}
		all = append(all, strings.TrimPrefix(place[:end], "."))
		place = place[end:]
	}
	return all
}

// readsPlace reports whether the code reads a stored place as the place now. Values can be read as
// pointers, arrays as slices, and keys as those of a larger type.
func readsPlace(stored, now []string) bool {
	switch {
	case len(now) > 0 && now[0] == "*":
		if len(stored) > 0 && stored[0] == "*" {
			stored = stored[1:]
		}
		return readsPlace(stored, now[1:])
	case len(stored) == 0 || len(now) == 0:
		return len(stored) == len(now)
	case stored[0] != now[0] && !elements(now[0]).Reads(elements(stored[0])):
		return false
	}
	return readsPlace(stored[1:], now[1:])
}

// elements returns the layer of a list or a map from its step in a place.
func elements(step string) shape.Layer {
	switch {
	case strings.HasPrefix(step, "["):
		return shape.Layer{Kind: "list", Len: strings.Trim(step, "[]")}
	case strings.HasPrefix(step, "{"):
		return shape.Layer{Kind: "map", Key: strings.Trim(step, "{}")}
	}
	return shape.Layer{}
}

// leaf returns the layer of the type at a place, as addPayload wrote it.
func leaf(of string) shape.Layer {
	kind, name, _ := strings.Cut(of, ":")
	if size, ok := strings.CutPrefix(kind, "bytes"); ok {
		return shape.Layer{Kind: "bytes", Len: size}
	}
	return shape.Layer{Kind: kind, Type: &shape.Type{Name: name}}
}

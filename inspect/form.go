package inspect

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/graphgen-go/graphgen/shape"
)

// form is an HTML form for a payload. Its inputs have the paths of fields as names.
type form struct {
	Inputs []input
	payload
}

// input is one input of a form.
type input struct {
	Name  string // the path, such as "v.Address.City"
	Label string
	Kind  string // "bool", "number", "integer", "text", "time" or "json"
	Type  string // the type in Go
	Hint  string
	Value string // that the reader has typed before; empty for none
	Depth int
}

// payload is the description that a form was made of.
type payload struct{ *shape.Payload }

// Limits of forms. A payload over them is written as JSON.
const (
	formInputs = 60
	formDepth  = 4
)

// root is the name of the input of a payload that is no struct, and begins the name of all others.
const root = "v"

// formOf returns the form of a payload, or nil if its type is not known.
func formOf(p *shape.Payload) *form {
	if p == nil || p.Type == "" {
		return nil
	}
	f := &form{payload: payload{p}}
	if !f.add(root, "", p.Type, 0) || len(f.Inputs) > formInputs {
		return nil
	}
	return f
}

// add adds the inputs of a type. It reports whether the form is complete.
func (f *form) add(name, label, typ string, depth int) bool {
	layer := f.Types.Outer(typ)
	i := input{Name: name, Label: label, Type: typ, Depth: depth}
	if layer.Kind == "" {
		return false
	}
	if layer.Kind == string(shape.Struct) {
		if depth >= formDepth {
			return false
		}
		if label != "" {
			i.Kind = "group"
			f.Inputs = append(f.Inputs, i)
		}
		for _, field := range layer.Type.Fields {
			if len(f.Inputs) > formInputs || !f.add(name+"."+field.Name, field.Name, field.Type, depth+1) {
				return false
			}
		}
		return true
	}
	i.Kind, i.Hint = inputKind(layer.Kind)
	if layer.Kind == string(shape.Union) {
		var tags []string
		for _, m := range layer.Type.Members {
			tags = append(tags, `{"`+m.Tag+`": …}`)
		}
		i.Hint = "one of " + strings.Join(tags, ", ")
	}
	f.Inputs = append(f.Inputs, i)
	return true
}

// inputKind returns the kind of the input for a type, by the kind of its outermost layer.
func inputKind(layer string) (kind, hint string) {
	switch {
	case layer == "bool":
		return "bool", ""
	case layer == "string" || layer == string(shape.Text):
		return "text", ""
	case layer == "bytes" || layer == string(shape.Binary):
		return "text", "base64"
	case layer == "time.Time":
		return "time", "such as 2026-01-02T15:04:05Z"
	case strings.HasPrefix(layer, "int") || strings.HasPrefix(layer, "uint"):
		return "integer", ""
	case strings.HasPrefix(layer, "float"):
		return "number", ""
	case layer == "pointer":
		return "json", "JSON; null for none"
	case layer == "list":
		return "json", "a JSON array"
	case layer == "map":
		return "json", "a JSON object"
	}
	return "json", "JSON"
}

// read returns the JSON of a filled form.
func (f *form) read(values url.Values) ([]byte, error) {
	v, err := f.value(values, root, f.Type)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// value returns the JSON of the inputs of a type. Package value checks it against the type.
func (f *form) value(values url.Values, name, typ string) (any, error) {
	layer := f.Types.Outer(typ)
	if layer.Kind == string(shape.Struct) {
		object := make(map[string]any, len(layer.Type.Fields))
		for _, field := range layer.Type.Fields {
			v, err := f.value(values, name+"."+field.Name, field.Type)
			if err != nil {
				return nil, err
			}
			if v != nil {
				object[field.Name] = v
			}
		}
		return object, nil
	}
	text := values.Get(name)
	kind, _ := inputKind(layer.Kind)
	switch {
	case kind == "bool":
		return text == "true", nil
	case kind == "text":
		return strings.ReplaceAll(text, "\r\n", "\n"), nil
	case strings.TrimSpace(text) == "" && name != root:
		return nil, nil // a field that is left out is zero
	case kind == "time":
		return strings.TrimSpace(text), nil
	}
	label := strings.TrimPrefix(strings.TrimPrefix(name, root), ".")
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		if label == "" {
			label = "the answer"
		}
		return nil, bad("%s: %q is not %s in JSON", label, clip(60, text), typ)
	}
	return v, nil
}

// exampleJSON returns JSON with all fields of a payload, to begin with.
func exampleJSON(p *shape.Payload) string {
	if p == nil || p.Type == "" {
		return ""
	}
	b, err := json.MarshalIndent(example(p.Types, p.Type, 0), "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

// example returns a zero value of a type.
func example(types shape.Types, typ string, depth int) any {
	layer := types.Outer(typ)
	switch {
	case layer.Kind == string(shape.Struct) && depth < formDepth:
		object := make(map[string]any)
		for _, field := range layer.Type.Fields {
			object[field.Name] = example(types, field.Type, depth+1)
		}
		return object
	case layer.Kind == "list" && layer.Len == "":
		return []any{}
	case layer.Kind == "map":
		return map[string]any{}
	}
	switch kind, _ := inputKind(layer.Kind); kind {
	case "bool":
		return false
	case "text":
		return ""
	case "integer", "number":
		return 0
	case "time":
		return "2026-01-02T15:04:05Z"
	}
	return nil
}

package inspect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// Limits of a tree on a page. The JSON has everything.
const (
	treeNodes  = 4000    // of one tree
	treeItems  = 100     // of one list or map
	treeText   = 4 << 10 // characters of one text
	shortText  = 100     // characters of a text that is not folded
	openLevels = 2       // levels that are not folded
)

// valueTree is a value as a page shows it.
type valueTree struct {
	Name     string
	Type     string
	Kind     string
	Text     string // of a value without parts
	Long     string // the whole text, if Text is only its beginning
	Count    string // such as "12 items"
	Children []valueTree
	Hidden   int // parts that are not shown
	Open     bool
	Fault    string // why the value cannot be read
}

// stateTree returns the tree of a stored state. s may be nil.
func stateTree(s *shape.State, b []byte) valueTree {
	v, err := value.State(s, b)
	if err != nil {
		return valueTree{Fault: err.Error()}
	}
	return treeOf(&v)
}

// payloadTree returns the tree of a payload. p may be nil.
func payloadTree(p *shape.Payload, b []byte) valueTree {
	v, err := value.Payload(p, b)
	if err != nil {
		return valueTree{Fault: err.Error()}
	}
	return treeOf(&v)
}

func treeOf(v *value.Value) valueTree {
	left := treeNodes
	return growTree("", v, 0, &left)
}

// growTree returns the tree of a value. left is the number of further nodes that the page shows.
func growTree(name string, v *value.Value, level int, left *int) valueTree {
	*left--
	t := valueTree{Name: name, Type: v.Type, Kind: string(v.Kind), Open: level < openLevels}
	switch v.Kind {
	case value.List:
		t.Count = plural(len(v.Items), "item")
		for i := range v.Items {
			if i == treeItems || *left <= 0 {
				t.Hidden = len(v.Items) - i
				break
			}
			t.Children = append(t.Children, growTree(strconv.Itoa(i), &v.Items[i], level+1, left))
		}
		t.Open = t.Open && len(v.Items) <= 20
	case value.Map, value.Struct, value.Union:
		if v.Kind == value.Map {
			t.Count = entries(len(v.Fields))
		}
		for i := range v.Fields {
			if i == treeItems || *left <= 0 {
				t.Hidden = len(v.Fields) - i
				break
			}
			t.Children = append(t.Children, growTree(v.Fields[i].Name, &v.Fields[i].Value, level+1, left))
		}
	case value.Nil, "":
		t.Text = "nil"
	default:
		t.Text = printable(v.Text)
		if n := len([]rune(v.Text)); n > shortText {
			t.Text, t.Long = clip(shortText, v.Text), clip(treeText, v.Text)
			t.Count = plural(n, "character")
		}
	}
	return t
}

// indented returns a value as JSON for people.
func indented(v *value.Value) []byte {
	raw, err := v.MarshalJSON()
	if err != nil { // never
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil { // a value is always JSON
		return raw
	}
	return readable(b.Bytes())
}

// readable returns JSON with the characters <, > and & as themselves. Package json escapes them
// for pages, and html/template escapes them a second time.
func readable(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		if char, ok := plain[string(text[i:min(i+6, len(text))])]; ok {
			out = append(out, char)
			i += 5
			continue
		}
		out = append(out, text[i:min(i+2, len(text))]...) // also a backslash that is escaped
		i++
	}
	return out
}

var plain = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

// stateJSON serves the state of a checkpoint as JSON.
func (in *Inspector) stateJSON(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	v, err := in.load(r, p, true)
	if err != nil {
		return err
	}
	state, err := v.State()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(indented(&state), '\n')) // the reader is gone if this fails
	return nil
}

// stateAt loads the state of another checkpoint of the same place.
func (in *Inspector) stateAt(r *http.Request, p place) (v view, state value.Value, err error) {
	if v, err = in.load(r, p, true); err == nil {
		state, err = v.State()
	}
	return v, state, err
}

// change is a difference between two states.
type change struct {
	Path          string
	Before, After *valueTree // nil for none
}

// changesSize is the number of changes that a page shows.
const changesSize = 200

// changesOf returns the differences between two states, and the number of those left out.
func changesOf(before, after *value.Value) (all []change, hidden int) {
	for i, c := range value.Diff(before, after) {
		if i >= changesSize {
			hidden++
			continue
		}
		row := change{Path: printable(c.Path)}
		for _, side := range []struct {
			from *value.Value
			to   **valueTree
		}{{c.Before, &row.Before}, {c.After, &row.After}} {
			if side.from != nil {
				left := 200
				t := growTree("", side.from, 1, &left)
				*side.to = &t
			}
		}
		all = append(all, row)
	}
	return all, hidden
}

// questionForm is an open question with the form of its answer.
type questionForm struct {
	graph.OpenQuestion
	Where  string
	Asked  valueTree
	Form   *form // nil if the answer has no description
	JSON   string
	Answer bool // the form is shown
	Type   string
	Wrong  string // why the answer that the form has is wrong; empty for none
	AsJSON bool   // the answer that the form has is JSON
}

// keep puts a wrong answer into the form, so that the reader can change it.
func (q *questionForm) keep(values url.Values, why string) {
	q.Wrong, q.AsJSON = why, q.Form == nil || values.Get("as") == "json"
	if q.AsJSON {
		q.JSON = values.Get("json")
		return
	}
	for i := range q.Form.Inputs {
		q.Form.Inputs[i].Value = values.Get(q.Form.Inputs[i].Name)
	}
}

// questionForms returns the open questions of a view. answer shows the forms of those that the
// thread accepts an answer to.
func questionForms(v *view, answer bool) []questionForm {
	all := make([]questionForm, 0, len(v.Snap.Questions))
	for _, q := range v.Snap.Questions {
		accepts := v.Snap.Status != checkpoint.Cancelled && (q.Expires.IsZero() || !v.Chain.Thread.Now.After(q.Expires))
		f := questionForm{OpenQuestion: q, Where: pathText(q.Path, q.Node, q.Index), Answer: answer && accepts}
		if d := v.Schemas.Question(v.Chain.Last.Fingerprint, q.Question); d != nil {
			f.Asked = payloadTree(&d.Question, q.Payload)
			f.Form = formOf(&d.Answer)
			f.JSON = exampleJSON(&d.Answer)
			f.Type = d.Answer.Type
		} else {
			f.Asked = payloadTree(nil, q.Payload)
		}
		all = append(all, f)
	}
	return all
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

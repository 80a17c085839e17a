package value_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// everything describes the state with a field for each reducer.
func everything() *shape.State {
	d := ref.EverythingSchema.Describe()
	return &d
}

// snapshotOf returns the snapshot of the state after an update.
func snapshotOf(tb testing.TB, change func(u *ref.EverythingUpdate)) []byte {
	tb.Helper()
	live := ref.EverythingSchema.New(cell.Options{Record: true})
	var u ref.EverythingUpdate
	change(&u)
	if err := live.Merge(0, &u); err != nil {
		tb.Fatal(err)
	}
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func textOf(tb testing.TB, v value.Value) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func TestAStateHasTheNamesOfItsFields(t *testing.T) {
	b := snapshotOf(t, func(u *ref.EverythingUpdate) {
		u.Facts.Put("k", ref.Fact{Source: "s", Score: 0.5})
		u.Docs.Append(ref.Doc{Title: "d"})
		u.Set.Set("<a>\n\"b\"")
		u.Ranks.Put(-3, "low")
		u.Plan.Reduce(ref.PlanEdit{Goal: "g"})
	})
	v, err := value.State(everything(), b)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Set":"\u003ca\u003e\n\"b\"","Docs":[{"Title":"d","Pages":null}],"Facts":{"k":{"Source":"s","Text":"","Score":0.5}},` +
		`"Ranks":{"-3":"low"},"Plan":{"Goal":"g","Steps":null,"Next":null}}`
	if got := textOf(t, v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if plan := v.Field("Plan"); plan == nil || plan.Type != "Plan" || plan.Kind != value.Struct {
		t.Errorf("got the plan %+v, want a struct Plan", plan)
	}
	if none := v.Field("docs"); none != nil {
		t.Errorf("got %+v under a wire name, want none", none)
	}
	plain, err := value.State(nil, b)
	if err != nil || plain.Field("docs") == nil {
		t.Errorf("without a description: got %s, %v, want the wire name docs", textOf(t, plain), err)
	}
}

func TestDataThatDoesNotFitIsReadWithoutItsType(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a list for a struct", "\x81\xa4Plan\x92\x01\xa1a", `{"Plan":[1,"a"]}`},
		{"a map for a list", "\x81\xa3Log\x81\x01\xc3", `{"Log":{"1":true}}`},
		{"a string for a number", "\x81\xa3Sum\xa1a", `{"Sum":"a"}`},
		{"an extension", "\x81\xa3Set\xd4\x05\x01", `{"Set":"1AUB"}`},
		{"an unknown field", "\x82\xa3new\xc2\xa3Set\xa1a", `{"Set":"a","new":false}`},
		{"a former name", "\x81\xa6papers\xc0", `{"Docs":null}`},
		{"the mark of a renamed field", "\x82\xa4docs\xc0\xa8was,docs\xa1x", `{"Docs":null}`},
		{"a composite key", "\x81\xa5Facts\x81\x91\x01\xc0", `{"Facts":{"[1]":null}}`},
		{"no bytes", "", `{}`},
		{"bytes that are not UTF-8", "\x81\xa3Set\xa1\xff", `{"Set":"�"}`},
		{"numbers that JSON lacks", "\x82\xa5Ratio\xca\x7f\x80\x00\x00\xa3Sum\xcf\xff\xff\xff\xff\xff\xff\xff\xff", `{"Sum":18446744073709551615,"Ratio":"+Inf"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := value.State(everything(), []byte(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(t, v); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	var damaged *wire.Error
	if _, err := value.State(everything(), []byte("\x81\xa3Set")); !errors.As(err, &damaged) {
		t.Errorf("truncated data: got %v, want a *wire.Error", err)
	}
	if _, err := value.Payload(nil, []byte("\x01\x02")); !errors.As(err, &damaged) {
		t.Errorf("two values: got %v, want a *wire.Error", err)
	}
}

func TestJSONThatDoesNotFitIsAnErrorWithAPath(t *testing.T) {
	d := everything()
	for text, want := range map[string]string{
		`{"Set":1}`:                            "Set: want a string, found 1",
		`{"Ranks":{"x":""}}`:                   `Ranks["x"]: want an integer that fits in an int8, found the string "x"`,
		`{"Ranks":{"300":""}}`:                 `Ranks["300"]: want an integer that fits in an int8, found 300`,
		`{"Votes":{"yes":1}}`:                  `Votes["yes"]: want true or false, found null`,
		`{"Min":1.5}`:                          "Min: want an integer that fits in an int, found 1.5",
		`{"Ratio":1e39}`:                       "Ratio: want a number that fits in a float32, found 1e39",
		`{"Log":"a"}`:                          `Log: want an array, found the string "a"`,
		`{"Log":["a",{"b":1}]}`:                `Log[1]: want a string, found an object with the names ["b"]`,
		`{"Messages":[{"ID":"1","At":"now"}]}`: `Messages[0].At: want a time in RFC 3339, such as 2026-01-02T15:04:05Z, found the string "now"`,
		`{"Facts":{"k":{"Sauce":""}}}`:         `Facts["k"].Sauce: want one of the fields Source, Text, Score of Fact, found another name`,
		`{"Cache":{}}`:                         "Cache: want one of the fields",
		`[]`:                                   "the JSON: want an object with fields of Everything, found an array of 0",
		`{"Set":`:                              "the JSON: want JSON, found unexpected EOF",
		`{} {}`:                                "the JSON: want one JSON value, found more text after it",
	} {
		_, err := value.EncodeUpdate(d, []byte(text))
		var fault *value.JSONError
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestAnUpdateIsWhatTheProgramWouldWrite(t *testing.T) {
	var want ref.EverythingUpdate
	want.Set.Set("s")
	want.Sum.Add(3)
	want.Min.Offer(-1)
	want.And.And(true)
	want.Log.Append("a", "b")
	want.Messages.Upsert(ref.Message{ID: "1", Calls: []ref.ToolCall{{Args: []byte("x")}}})
	want.Tags.Add("x")
	want.Facts.Put("k", ref.Fact{Score: 1})
	want.Ranks.Put(100, "y")
	want.Ranks.Put(-3, "x")
	want.Plan.Reduce(ref.PlanEdit{Goal: "g"})
	want.Last.Clear()
	b, err := ref.EverythingSchema.AppendUpdate(nil, &want)
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.Update(everything(), b)
	if err != nil {
		t.Fatal(err)
	}
	text := textOf(t, v)
	got, err := value.EncodeUpdate(everything(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(b) {
		again, _ := value.Update(everything(), got)
		t.Errorf("%s\nis %q\nwant %q\nread again %s", text, got, b, textOf(t, again))
	}
	if wantText := `"Last":null`; !strings.Contains(text, wantText) || !strings.Contains(text, `"Log":["a","b"]`) {
		t.Errorf("got %s, want %s in it", text, wantText)
	}
}

func TestAnUpdateWithOtherOperationsNamesThem(t *testing.T) {
	var u ref.EverythingUpdate
	u.Log.Append("a")
	u.Log.Remove("b")
	u.Facts.Delete("k")
	b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.Update(everything(), b)
	if want := `{"Log":[{"append":["a"]},{"remove":["b"]}],"Facts":[{"delete":["k"]}]}`; err != nil || textOf(t, v) != want {
		t.Errorf("got %s, %v, want %s", textOf(t, v), err, want)
	}
}

func TestDiffNamesEachChange(t *testing.T) {
	before := `{"Set":"a","Log":["a","b","c"],"Facts":{"k":{"Score":1},"l":{}},"Plan":{"Goal":"g","Steps":["x"]}}`
	after := `{"Set":"b","Log":["a","n","b","c"],"Facts":{"k":{"Score":2},"a b":{}},"Plan":null}`
	read := func(text string) *value.Value {
		b, err := value.EncodeState(everything(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v, err := value.State(everything(), b)
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	var got []string
	for _, c := range value.Diff(read(before), read(after)) {
		side := func(v *value.Value) string {
			if v == nil {
				return "-"
			}
			return textOf(t, *v)
		}
		got = append(got, fmt.Sprintf("%s: %s > %s", c.Path, side(c.Before), side(c.After)))
	}
	want := []string{
		`Set: "a" > "b"`,
		`Log[1]: - > "n"`,
		`Facts["k"].Score: 1 > 2`,
		`Facts["l"]: {} > -`,
		`Facts["a b"]: - > {}`,
		`Plan: {"Goal":"g","Steps":["x"]} > null`,
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if same := value.Diff(read(after), read(after)); len(same) != 0 {
		t.Errorf("equal values: got %v, want no changes", same)
	}
}

// FuzzRead reads any bytes with any description. Nothing may panic, and the JSON is valid.
func FuzzRead(f *testing.F) {
	d := everything()
	description, err := d.AppendWire(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(description, snapshotOf(f, func(u *ref.EverythingUpdate) { u.Log.Append("a"); u.Plan.Reduce(ref.PlanEdit{Step: "s"}) }))
	f.Add([]byte("\x94\x03\xa1S\x91\x98\xa1A\xa1a\x90\xa0\xa1P\xa0\xa0\xc2\x91\x95\xa1P\xa7defined\xa2*P\x90\x90"), []byte("\x81\xa1a\x01"))
	f.Fuzz(func(t *testing.T, description, data []byte) {
		var s shape.State
		if s.DecodeWire(description) != nil {
			return
		}
		for _, read := range []func() (value.Value, error){
			func() (value.Value, error) { return value.State(&s, data) },
			func() (value.Value, error) { return value.Update(&s, data) },
		} {
			v, err := read()
			if err != nil {
				continue
			}
			text := textOf(t, v)
			if !value.Equal(&v, &v) || len(value.Diff(&v, &v)) > 0 {
				t.Errorf("%s differs from itself", text)
			}
			if b, err := value.EncodeState(&s, []byte(text)); err == nil {
				if _, err := value.State(&s, b); err != nil {
					t.Errorf("%s is encoded as %q, which is not read: %v", text, b, err)
				}
			}
		}
	})
}

// FuzzEncode encodes any text with the description of a state. The result is MessagePack.
func FuzzEncode(f *testing.F) {
	f.Add([]byte(`{"Set":"a","Votes":{"true":1},"Log":["a"],"Plan":{"Goal":"g"}}`))
	f.Add([]byte(`{"Ranks":{"1":"","01":""},"Messages":[{"At":"2026-01-02T15:04:05Z"}]}`))
	d := everything()
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, encode := range map[string]func(*shape.State, []byte) ([]byte, error){"state": value.EncodeState, "update": value.EncodeUpdate} {
			b, err := encode(d, text)
			if err != nil {
				continue
			}
			r := wire.NewReader(name, b)
			if r.Skip(); r.End() != nil {
				t.Errorf("the %s of %s is %q: %v", name, text, b, r.End())
			}
		}
	})
}

package gen

import (
	"go/token"
	"testing"
)

// fingerprintOf returns the fingerprint of the State in a source.
func fingerprintOf(t *testing.T, text string) uint64 {
	t.Helper()
	fset := token.NewFileSet()
	hook := new(parseHook)
	file, err := hook.parse(fset, "/m/state.go", []byte("package m\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	src := newSource(Config{Dir: "/m"}, check(t, fset, file), hook)
	diags := &diagnostics{dir: "/m"}
	units := src.units(Config{Types: []string{"State"}}, diags)
	m := buildModel(src, units[0], units, nil, diags)
	if !diags.empty() {
		t.Fatalf("%s: %s", text, diags.sorted())
	}
	return m.targets[0].shape.Fingerprint()
}

func TestFingerprintChangesWithTheMeaningOfData(t *testing.T) {
	const base = "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }"
	same := map[string]string{
		"order of fields":       "type State struct { C map[string]Item; A int; B []Item `graph:\"upsert,key=ID\"` }; type Item struct { Text, ID string; Next *Item }",
		"name of a nested type": "type State struct { A int; B []Elem `graph:\"upsert,key=ID\"`; C map[string]Elem }; type Elem struct { ID, Text string; Next *Elem }",
		"name in Go alone":      "type State struct { Z int `graph:\"name=A\"`; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"the default reducer":   "type State struct { A int `graph:\"replace\"`; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"an untracked field":    "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item; D func() `graph:\"untracked\"` }; type Item struct { ID, Text string; Next *Item }",
		"a declared basic type": "type State struct { A Num; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Num int; type Item struct { ID, Text string; Next *Item }",
		"an unstored field":     "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item; F func() `graph:\"-\"` }",
	}
	differ := map[string]string{
		"type of a field":         "type State struct { A int8; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"wire name":               "type State struct { A int `graph:\"name=a\"`; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"reducer":                 "type State struct { A int `graph:\"sum\"`; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"key":                     "type State struct { A int; B []Item `graph:\"upsert,key=Text\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"a field more":            "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item; D int }; type Item struct { ID, Text string; Next *Item }",
		"a nested field more":     "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text, More string; Next *Item }",
		"type of a nested field":  "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next []Item }",
		"type of a map's keys":    "type State struct { A int; B []Item `graph:\"upsert,key=ID\"`; C map[int]Item }; type Item struct { ID, Text string; Next *Item }",
		"a pointer for a value":   "type State struct { A *int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"a custom reducer":        "type State struct { A int `graph:\"reduce=f\"`; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }; func f(a, b int) int { return a }",
		"length of an array":      "type State struct { A [2]int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
		"length of another array": "type State struct { A [3]int; B []Item `graph:\"upsert,key=ID\"`; C map[string]Item }; type Item struct { ID, Text string; Next *Item }",
	}
	want := fingerprintOf(t, base)
	for name, text := range same {
		if got := fingerprintOf(t, text); got != want {
			t.Errorf("a change of %s changes the fingerprint", name)
		}
	}
	seen := map[uint64]string{want: "nothing"}
	for name, text := range differ {
		got := fingerprintOf(t, text)
		if other, taken := seen[got]; taken {
			t.Errorf("a change of %s gives the fingerprint of a change of %s", name, other)
		}
		seen[got] = name
	}
}

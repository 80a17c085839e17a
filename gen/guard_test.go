package gen

import (
	"go/token"
	"strings"
	"testing"
)

func TestChangesOfOtherTypesThanStructsDoNotCompileUntilGeneratedAgain(t *testing.T) {
	const state = "package m\n//graphgen:state\ntype State struct { "
	tests := []struct{ name, before, after, want string }{
		{"the size of a named integer", "N Num }; type Num int8", "N Num }; type Num int64", "cannot convert"},
		{"the size of a map's key", "N map[Num]int }; type Num int8", "N map[Num]int }; type Num int64", "cannot convert"},
		{"the key of an upserted element", "N []In `graph:\"upsert,key=K\"` }; type In struct { K Num }; type Num int8",
			"N []In `graph:\"upsert,key=K\"` }; type In struct { K Num }; type Num int64", "cannot convert"},
		{"the elements of a named slice", "N List }; type List []int8", "N List }; type List []int64", "cannot convert"},
		{"the target of an alias", "N Num }; type Num = int8", "N Num }; type Num = int64", "cannot use (*Num)(nil)"},
		{"an alias within a nested struct", "X In }; type In struct { N []Num }; type Num = int8", "X In }; type In struct { N []Num }; type Num = int64", "cannot use (*Num)(nil)"},
		{"a better codec", "T Text }; type Text chan int; func (Text) MarshalText() ([]byte, error) { return nil, nil }; func (*Text) UnmarshalText([]byte) error { return nil }",
			"T Text }; type Text chan int; func (Text) MarshalText() ([]byte, error) { return nil, nil }; func (*Text) UnmarshalText([]byte) error { return nil }\n" +
				"func (Text) MarshalBinary() ([]byte, error) { return nil, nil }; func (*Text) UnmarshalBinary([]byte) error { return nil }", "ambiguous selector"},
		{"a codec of graphgen's own form", "X In }; type In struct { X int }",
			"X In }; type In struct { X int }; func (*In) AppendWire(b []byte) ([]byte, error) { return b, nil }; func (*In) DecodeWire([]byte) error { return nil }", "ambiguous selector"},
		{"a nested type that gains a codec", "O Outer }; type Outer struct { In In; X int }; type In struct { F func() }\n" + binary("Outer"),
			"O Outer }; type Outer struct { In In; X int }; type In struct { F func() }\n" + binary("Outer") + binary("In"), "ambiguous selector"},
		{"a nested type that can be stored now", "O Outer }; type Outer struct { X In }; type In struct { F func() }\n" + binary("Outer"),
			"O Outer }; type Outer struct { X In }; type In struct { F int }\n" + binary("Outer"), "cannot use In{}"},
		{"a struct with a codec that can be stored now", "O Outer }; type Outer struct { F func() }\n" + binary("Outer"),
			"O Outer }; type Outer struct { F int }\n" + binary("Outer"), "cannot use Outer{}"},
		{"a migration", "A int }", "A int }; func (*State) Migrate(*state.OldFields) error { return nil }", "ambiguous selector"},
	}
	for _, tt := range tests {
		fset := token.NewFileSet()
		before, after := state+tt.before, state+tt.after
		if strings.Contains(after, "state.OldFields") {
			after = strings.Replace(after, "package m\n", "package m\nimport \"github.com/graphgen-go/graphgen/runtime/state\"\n", 1)
		}
		files := generated(t, fset, before)
		if got := complaints(t, fset, before, files); got != nil {
			t.Fatalf("%s: what was generated does not compile: %q", tt.name, got)
		}
		if got := strings.Join(complaints(t, fset, after, files), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the compiler says %q, want %q in it", tt.name, got, tt.want)
		}
		if got := complaints(t, fset, after, generated(t, fset, after)); got != nil {
			t.Errorf("%s: generated again it does not compile: %q", tt.name, got)
		}
	}
}

// binary returns methods that store a type as binary.
func binary(name string) string {
	return "\nfunc (" + name + ") MarshalBinary() ([]byte, error) { return nil, nil }\nfunc (*" + name + ") UnmarshalBinary([]byte) error { return nil }"
}

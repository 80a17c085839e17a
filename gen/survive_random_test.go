package gen_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/gen"
	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// evolver writes random types and random changes of them.
type evolver struct{ rand *rand.Rand }

func (e *evolver) pick(words ...string) string { return words[e.rand.IntN(len(words))] }

// basic writes a type without parts.
func (e *evolver) basic() string {
	return e.pick("int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
		"complex64", "complex128", "string", "bool", "[]byte", "[2]byte", "[3]byte", "time.Time", "Union", "Named", "Texts", "Bins")
}

// typ writes a type.
func (e *evolver) typ(depth int) string {
	if depth == 0 {
		return e.basic()
	}
	switch e.rand.IntN(9) {
	case 0:
		return "[]" + e.typ(depth-1)
	case 1:
		return e.pick("[2]", "[3]") + e.typ(depth-1)
	case 2:
		return "map[" + e.pick("string", "int8", "int64", "uint16", "bool") + "]" + e.typ(depth-1)
	case 3:
		return "*Part" + e.pick("A", "B", "C", "D", "E")
	case 4:
		return "Part" + e.pick("A", "B", "C", "D", "E")
	}
	return e.basic()
}

// fixedTypes are the parts of random types. Each of PartB to PartE is a change of PartA.
const fixedTypes = `package types

import (
	"strconv"
	"time"
)

var _ time.Time

type PartA struct { X int32; Y string }
type PartB struct { X int64; Y string; Z bool }
type PartC struct { Z int32 ` + "`graph:\"was=X\"`" + `; Y string }
type PartD struct { X int32 }
type PartE struct { X int32; Y bool }

type Union interface{ isUnion() }

//graphgen:union Union = PartA | *PartB

func (PartA) isUnion() {}
func (PartB) isUnion() {}

type Named int16

type Texts struct{ f func() }

func (t Texts) MarshalText() ([]byte, error) { return []byte("1"), nil }
func (t *Texts) UnmarshalText(b []byte) (err error) { _, err = strconv.Atoi(string(b)); return err }

type Bins struct{ f func() }

func (t Bins) MarshalBinary() ([]byte, error) { return []byte{1}, nil }
func (t *Bins) UnmarshalBinary(b []byte) error { return nil }

`

// TestLockAllowsOnlyWhatCanBeRead draws random types, and stores values of each. It reads them as
// every other type. If the lock allows the change, all values must be read. If the lock refuses
// it, at least one value must not, unless the types store themselves.
func TestLockAllowsOnlyWhatCanBeRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	drawn := []string{"string", "*string", "int64", "*int64", "[]byte", "[2]byte", "PartA", "PartB", "PartC", "PartD", "PartE", "Union", "Texts", "Bins"}
	count := 90
	e := &evolver{rand.New(rand.NewPCG(1, 2))}
	for len(drawn) < count {
		drawn = append(drawn, e.typ(2))
	}
	dir := newModule(t)
	source := fixedTypes
	for i, typ := range drawn {
		source += fmt.Sprintf("//graphgen:payload\ntype P%d struct{ V %s }\n\n", i, typ)
	}
	writeFile(t, filepath.Join(dir, "types", "types.go"), source)
	generateIn(t, dir, "./types")
	stored := lockOf(t, dir)
	readable := strings.Fields(runProgram(t, dir, pairsProgram(len(drawn))))
	if len(readable) != len(drawn) {
		t.Fatalf("the program printed %d words, want %d", len(readable), len(drawn))
	}
	allowed := 0
	for i := range drawn {
		for j := range drawn {
			allows, opaque := allows(stored, i, j)
			reads := readable[i][j] == '1'
			if allows && !reads {
				t.Errorf("the lock allows %s for %s, but stored values cannot be read", drawn[j], drawn[i])
			}
			pair := strings.Contains(drawn[i]+drawn[j], "complex") // stored as an array of two floats
			if !allows && reads && !opaque && !pair {
				t.Errorf("the lock refuses %s for %s, but all stored values can be read", drawn[j], drawn[i])
			}
			if allows && i != j {
				allowed++
			}
		}
	}
	if allowed < len(drawn) {
		t.Errorf("the lock allows %d of %d changes: are the types too different?", allowed, len(drawn)*(len(drawn)-1))
	}
}

// lockOf returns the lock of the package types.
func lockOf(t *testing.T, dir string) *lock.Lock {
	t.Helper()
	result, err := gen.Lock(t.Context(), gen.Config{Dir: dir, Patterns: []string{"./types"}})
	if err != nil || len(result.Files) != 1 {
		t.Fatalf("Lock: %v, %v", err, result)
	}
	l, err := lock.Parse(result.Files[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// allows reports whether the lock allows the payload of number j to replace that of number i. It
// cannot know that for opaque types, which store themselves.
func allows(stored *lock.Lock, i, j int) (allowed, opaque bool) {
	old, now := *stored, *stored
	old.Payloads = map[string]*lock.Entry{"P": stored.Payloads[fmt.Sprintf("P%d", i)]}
	now.Payloads = map[string]*lock.Entry{"P": stored.Payloads[fmt.Sprintf("P%d", j)]}
	_, changes := lock.Compare(&old, &now, func(string, string) bool { return false })
	allowed = true
	for _, c := range changes {
		if c.Verdict == lock.Refused {
			allowed = false
			opaque = opaque || strings.Contains(c.Text, "graphgen cannot see")
		}
	}
	return allowed, opaque
}

// pairsProgram returns a program that prints a row of 0 and 1 for each payload. A 1 stands for a
// payload that reads all its values.
func pairsProgram(n int) string {
	var b strings.Builder
	b.WriteString(`package main

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"example.com/m/types"
)

type payload interface {
	AppendWire(b []byte) ([]byte, error)
	DecodeWire(b []byte) error
}

// fill sets v to an extreme value: 0 is the least, 1 the greatest, 2 has nil wherever possible.
func fill(v reflect.Value, extreme int) {
	if part, ok := v.Addr().Interface().(*types.Union); ok {
		switch extreme {
		case 0:
			*part = types.PartA{}
		case 1:
			*part = &types.PartB{}
		}
		return
	}
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(int64(extreme), 0)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(extreme == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		size := v.Type().Bits()
		v.SetInt([]int64{-1 << (size - 1), 1<<(size-1) - 1, 0}[extreme])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, math.MaxUint64 >> (64 - v.Type().Bits()), 0}[extreme])
	case reflect.Float32:
		v.SetFloat([]float64{-math.MaxFloat32, 0.5, 0}[extreme])
	case reflect.Float64:
		v.SetFloat([]float64{-math.MaxFloat64, 0.1, 0}[extreme])
	case reflect.Complex64:
		v.SetComplex(complex(0.5, 0))
	case reflect.Complex128:
		v.SetComplex(complex(0.1, 0))
	case reflect.String:
		v.SetString([]string{"", "x", ""}[extreme])
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), extreme)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), extreme)
			}
		}
	}
	if extreme == 2 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), extreme)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 4, 4))
		for i := range v.Len() {
			fill(v.Index(i), extreme)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, extreme)
		fill(elem, extreme)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	}
}

// stored returns the bytes of the extreme values of a payload.
func stored(empty func() payload) (all [][]byte) {
	for extreme := range 3 {
		p := empty()
		fill(reflect.ValueOf(p).Elem(), extreme)
		b, err := p.AppendWire(nil)
		if err != nil {
			panic(err)
		}
		all = append(all, b)
	}
	return all
}

func main() {
	all := []func() payload{
`)
	for i := range n {
		fmt.Fprintf(&b, "\t\tfunc() payload { return new(types.P%d) },\n", i)
	}
	b.WriteString(`	}
	for _, from := range all {
		values := stored(from)
		var row strings.Builder
		for _, to := range all {
			reads := '1'
			for _, b := range values {
				if to().DecodeWire(b) != nil {
					reads = '0'
				}
			}
			row.WriteRune(reads)
		}
		fmt.Println(row.String())
	}
}
`)
	return b.String()
}

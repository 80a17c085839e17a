// Package reducers has reducers on fields that they do not fit, and functions of the wrong signature.
package reducers

import "time"

//graphgen:state
type State struct {
	AppendMap   map[string]int `graph:"append"`              // want `State.AppendMap: reducer "append" needs a slice, got map\[string\]int; use "merge" for a map`
	AppendInt   int            `graph:"append"`              // want `reducer "append" needs a slice, got int`
	AppendArray [3]int         `graph:"append"`              // want `reducer "append" needs a slice, got \[3\]int`
	AppendBytes []byte         `graph:"append"`              // want `needs a slice of values, got \[\]byte, which is stored as one value`
	UpsertMap   map[string]int `graph:"upsert,key=ID"`       // want `reducer "upsert" needs a slice`
	UnionMap    map[string]int `graph:"union"`               // want `reducer "union" needs a slice`
	UnionDeep   [][]string     `graph:"union"`               // want `reducer "union" needs elements that == compares by value, got \[\]string`
	UnionPtr    []*Item        `graph:"union"`               // want `reducer "union" needs elements that == compares by value, got \*Item`
	UnionTime   []time.Time    `graph:"union"`               // want `reducer "union" needs elements that == compares by value, got time.Time`
	MergeList   []string       `graph:"merge"`               // want `reducer "merge" needs a map, got \[\]string; use "append" for a slice`
	SumString   string         `graph:"sum"`                 // want `reducer "sum" needs a number, got string`
	MinBool     bool           `graph:"min"`                 // want `reducer "min" needs a number or a string, got bool`
	MaxTime     time.Time      `graph:"max"`                 // want `reducer "max" needs a number or a string, got time.Time; use reduce=`
	MaxComplex  complex128     `graph:"max"`                 // want `reducer "max" needs a number or a string, got complex128`
	AndInt      int            `graph:"and"`                 // want `reducer "and" needs a bool, got int; change the field's type, or the reducer`
	OrInt       int            `graph:"or"`                  // want `reducer "or" needs a bool`
	NoKey       []Item         `graph:"upsert,key=Nope"`     // want `key=Nope: Item has no field or method Nope`
	FloatKey    []Item         `graph:"upsert,key=Price"`    // want `key=Price: type float64 is a float`
	ListKey     []Item         `graph:"upsert,key=Tags"`     // want `key=Tags: type \[\]string is not a string, an integer, a bool, or a type with MarshalText`
	ArgKey      []Item         `graph:"upsert,key=With"`     // want `key=With: the method has the signature func\(n int\) string; want no parameters and one result`
	DeepKey     []Holder       `graph:"upsert,key=ID"`       // want `key=ID: the field is reached through a pointer that Holder embeds`
	NoFunc      int            `graph:"reduce=nowhere"`      // want `reduce=nowhere: package reducers declares no such function; write func nowhere\(old int, in In\) int`
	NotFunc     int            `graph:"reduce=variable"`     // want `reduce=variable is a variable, not a function`
	Params      int            `graph:"reduce=oneParam"`     // want `reduce=oneParam \(.*reducers.go:\d+:6\) is func\(old int\) int; want func oneParam\(old int, in In\) int`
	Old         int            `graph:"reduce=oldString"`    // want `takes the old value as string, but the field is int`
	Result      int            `graph:"reduce=result"`       // want `returns string, but the field is int`
	Results     int            `graph:"reduce=results"`      // want `is func\(old int, in int\) \(int, error\)`
	Generic     int            `graph:"reduce=generic"`      // want `has type parameters`
	Variadic    int            `graph:"reduce=variadic"`     // want `want func variadic`
	Input       int            `graph:"reduce=inputChannel"` // the fault is at the parameter
}

// Item has an ID.
type Item struct {
	ID    string
	Price float64
	Tags  []string
}

// With is no key: it takes an argument.
func (Item) With(n int) string { return "" }

// Holder embeds what may be nil.
type Holder struct{ *Item }

var variable int

func oneParam(old int) int                 { return old }
func oldString(old string, in int) int     { return in }
func result(old int, in int) string        { return "" }
func results(old int, in int) (int, error) { return 0, nil }
func generic[T any](old int, in T) int     { return old }
func variadic(old int, in ...int) int      { return old }
func inputChannel(old int, in chan int) int { // want `inputChannel: type chan int is a channel`
	return old
}

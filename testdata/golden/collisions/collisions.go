// Package collisions uses every name that generated code would like to have.
package collisions

import (
	state2 "maps"
	wire "slices"

	cmp "github.com/graphgen-go/graphgen/testdata/golden/collisions/state"
)

//go:generate go tool graphgen -type=State,b

// State has fields that are called like methods of what is generated, and types like its
// variables.
type State struct {
	String  string
	Equal   []e `graph:"append"`
	Clone   map[string]v
	Core    int
	Init    bool `graph:"or"`
	View    *u
	Load    s   `graph:"last"`
	Merge   []r `graph:"upsert,key=key"`
	Begin   a
	End     l `graph:"reduce=f"`
	f       string
	s       int
	Field   x
	Adopt   cmp.Core
	IsZero  k `graph:"sum"`
	Codec   Codec
	Foreign []cmp.Core `graph:"append"`
	Share   []k        `graph:"union"`
	Fields  Fields
	EndStep map[k]list `graph:"merge"`
	Changes d
	before  after
}

type (
	a    struct{ b, c []int }
	b    struct{ a *b }
	c    string
	d    struct{ after, before []int }
	e    struct{ err, r, v string }
	k    int
	l    []out
	m    map[string]int
	n    int
	out  struct{ list, key string }
	r    struct{ key n }
	s    string
	u    struct{ v v }
	v    struct{ x, y []c }
	w    bool
	x    struct{ m m }
	y    float64
	list struct{ depth y }

	before struct{ d *d }
	after  struct{ a []before }

	// Codec and Fields end names of helpers.
	Codec  struct{ OK w }
	Fields struct{ A, B []int }
)

// The packages that generated code imports, and more of its variables.
func maps()   {}
func slices() {}
func state()  {}
func opts()   {}
func task()   {}
func depth()  {}
func key()    {}
func err()    {}
func ok()     {}
func i()      {}

type graphgenCodecCodec struct{}

func f(old l, in b) l { return append(old, out{}) }

var (
	_ = wire.Clone[[]int]
	_ = state2.Clone[map[int]int]
	_ = []func(){maps, slices, state, opts, task, depth, key, err, ok, i}
	_ graphgenCodecCodec
)

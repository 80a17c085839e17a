// Package keys has every way to define the key of list elements.
package keys

//go:generate go tool graphgen -type=State

// State has upserted lists.
type State struct {
	ByField    []Item           `graph:"upsert,key=ID"`
	ByPointer  []*Item          `graph:"upsert,key=ID"`
	ByMethod   []Item           `graph:"upsert,key=Lower"`
	ByPointerM []*Item          `graph:"upsert,key=Pointer"`
	ByAddr     []Item           `graph:"upsert,key=Pointer"`
	ByEmbedded []Embedding      `graph:"upsert,key=ID"`
	ByNumber   []Numbered       `graph:"upsert,key=N"`
	ByBool     []Numbered       `graph:"upsert,key=Even"`
	ByNamed    []Numbered       `graph:"upsert,key=Kind"`
	Named      Items            `graph:"upsert,key=ID"`
	Tags       Tags             `graph:"union"`
	Points     []Point          `graph:"union"`
	Ratios     []float64        `graph:"union"`
	Log        Log              `graph:"append"`
	Table      Table            `graph:"merge"`
	Flags      map[bool]string  `graph:"merge"`
	Bytes      map[byte]float32 `graph:"merge"`
	hidden     []item           `graph:"upsert,key=id"`
}

// Item has a key.
type Item struct{ ID, Text string }

// Lower is a key by method.
func (i Item) Lower() string { return "lower:" + i.ID }

// Pointer is a key by a method of the pointer.
func (i *Item) Pointer() string { return "pointer:" + i.ID }

// Embedding has its key from what it embeds.
type Embedding struct {
	Item
	More []string
}

// Numbered has keys that are no strings.
type Numbered struct {
	N    uint16
	Kind Kind
}

// Even is a key of two values.
func (n Numbered) Even() bool { return n.N%2 == 0 }

type item struct{ id, text string }

// Kind, Items, Tags, Log, Table and Point are declared types.
type (
	Kind  string
	Items []Item
	Tags  []Kind
	Log   []string
	Table map[Kind][]int
	Point struct{ X, Y float64 }
)

// String takes the place of the method that graphgen writes.
func (u *StateUpdate) String() string { return "an update of " + u.ByField.String() }

// IsZero takes the place of the method that graphgen writes.
func (d *StateDiff) IsZero() bool { return d.ByField.IsZero() }

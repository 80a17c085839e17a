package rep

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
)

// Old holds the stored fields whose type is not the type in the code.
type Old struct{ fields []OldField }

// OldField is one field of an Old.
type OldField struct {
	Name  string // the name that it is stored under
	Cell  int    // the index of its cell
	Value *delta.Value
	Read  bool // by Migrate
}

// Fields returns the fields in the order in which they were found.
func (o *Old) Fields() []OldField { return o.fields }

// Add adds a field.
func (o *Old) Add(f OldField) { o.fields = append(o.fields, f) }

// DropAbsent removes the fields that a delta has cleared.
func (o *Old) DropAbsent() {
	o.fields = slices.DeleteFunc(o.fields, func(f OldField) bool { return f.Value.Absent() })
}

// Find returns the field that is stored under name, or nil.
func (o *Old) Find(name string) *OldField {
	i := slices.IndexFunc(o.fields, func(f OldField) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &o.fields[i]
}

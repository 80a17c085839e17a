// Package lock keeps the file graphgen.lock of a package. The file lists everything that threads
// may have stored with the types of the package. [Compare] decides which changes of the sources
// stored threads survive.
//
// Types are described as they are stored. A named type without structure of its own is the type in
// its declaration. The names of structs and unions only connect lines of the file. Two types with
// different names in Go and the same stored form are the same type.
package lock

import "go/token"

// Name is the name of the file, in the folder of its package.
const Name = "graphgen.lock"

// Format is the number of the format that this package reads and writes.
const Format = 1

// Lock lists the stored names and types of one package.
type Lock struct {
	States    map[string]*Group // by the name of the type
	Payloads  map[string]*Entry // by the name of the type
	Questions map[string]*Entry // by stored name
	Signals   map[string]*Entry // by stored name

	// The following are by label, which types in entries refer to.
	Structs map[string]*Group
	Unions  map[string]*Group
	Named   map[string]string // the types of named types that contain themselves
	Codecs  map[string]string // the forms of types that store themselves: wire, binary, text or json
}

// New returns a Lock that lists nothing.
func New() *Lock {
	return &Lock{
		States: make(map[string]*Group), Payloads: make(map[string]*Entry),
		Questions: make(map[string]*Entry), Signals: make(map[string]*Entry),
		Structs: make(map[string]*Group), Unions: make(map[string]*Group),
		Named: make(map[string]string), Codecs: make(map[string]string),
	}
}

// Has reports whether a type has the label.
func (l *Lock) Has(label string) bool {
	return l.Structs[label] != nil || l.Unions[label] != nil || l.Named[label] != "" || l.Codecs[label] != ""
}

// Group is a state, a struct or a union.
type Group struct {
	Entries   map[string]*Entry // by stored name
	Untracked []string          // states in the sources: the names of fields that are not stored
	At        Place
}

// NewGroup returns a Group without entries.
func NewGroup(at Place) *Group { return &Group{Entries: make(map[string]*Entry), At: at} }

// Entry is a stored name: a field, a member of a union, a payload, a question or a signal.
type Entry struct {
	Type     string   // questions: the type of the question
	Answer   string   // questions: the type of the answer
	Reducer  string   // fields of states
	Input    string   // fields of states with a reducer function: the type of its inputs
	Was      []string // fields: former names, which are also read
	Migrated bool     // fields of states: threads may have stored a type that only Migrate reads
	Removed  bool     // the sources do not have it any more

	Migrates bool     // fields of states in the sources: a method Migrate gets the field
	Others   []*Entry // questions and signals in the sources: declarations of the name with other types
	At       Place
}

// Place is the place of a name in the sources or in the file.
type Place struct {
	Pos     token.Position
	Subject string // such as State.Messages
	Path    string // the path from the subject to a name that another package declares
}

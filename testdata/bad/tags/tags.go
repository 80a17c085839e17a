// Package tags has every mistake that can be made in a graph tag.
package tags

//graphgen:state
type State struct {
	Unknown   string            `graph:"appendd"`               // want `State.Unknown: unknown reducer "appendd"; did you mean "append"\?`
	Nonsense  string            `graph:"zzz"`                   // want `unknown reducer "zzz"; `
	Two       []string          `graph:"append,union"`          // want `tag names two reducers, "append" and "union"; keep one`
	Empty     string            `graph:"last,,name=x"`          // want `empty option`
	Valued    int               `graph:"sum=3"`                 // want `reducer "sum" takes no value, got "3"; remove "=3"`
	NoFunc    int               `graph:"reduce"`                // want `needs the name of a function`
	BadFunc   int               `graph:"reduce=a.b"`            // want `not a Go name`
	NoName    string            `graph:"name="`                 // want `needs a name in stored data`
	TwoNames  string            `graph:"name=a,name=b"`         // want `two name= options`
	Control   string            `graph:"name=a\u0007b"`         // want `does not print`
	NoWas     string            `graph:"was"`                   // want `needs a name in stored data`
	TwoKeys   []Item            `graph:"upsert,key=ID,key=ID2"` // want `two key= options`
	Malformed string            `graph:last`                    // want `malformed struct tag`
	Open      string            `graph:"last`                   // want `malformed struct tag`
	Twice     string            `graph:"last" graph:"first"`    // want `two graph: parts`
	Taken     string            `graph:"name=Other"`
	Other     string            // want `wire name "Other" is also that of field State.Taken \(tags.tags.go:21:2\)`
	Past      string            `graph:"was=Taken2"`
	Taken2    string            // want `wire name "Taken2" is also that of field State.Past \(.*:23:2\)`
	Left      string            `graph:"-"`                    // want `"-" leaves the field out of the update`
	Keyless   []Item            `graph:"upsert"`               // want `"upsert" needs the key of an element`
	StrayKey  []Item            `graph:"append,key=ID"`        // want `key=ID belongs to "upsert", but the reducer is "append"`
	Stored    chan int          `graph:"untracked,name=stray"` // want `an untracked field is not stored`
	Option    string            `graph:"last,nmae=x"`          // want `unknown option "nmae=x"; did you mean "name"\?`
	Case      string            `graph:"Last"`                 // want `did you mean "last"\?`
	Spaced    map[string]string `graph:"merge, name=x"`        // want `unknown option`

	RunTwice []string `graph:"append,run,run"`    // want `option "run": "run" takes no value and stands once`
	RunValue string   `graph:"run=3"`             // want `option "run=3": "run" takes no value and stands once`
	RunDraft string   `graph:"ephemeral,run"`     // want `run: a field with "ephemeral" does not last until the next input; remove one of the two`
	RunCache string   `graph:"untracked,run"`     // want `run: a field with "untracked" does not last until the next input`
	RunWord  string   `graph:"runs"`              // want `unknown reducer "runs"; did you mean "run"\?`
	RunFine  []string `graph:"run,append,name=r"` // in any order

	JSONTwice  []string      `graph:"append,json,text"` // want `option "text": "json" and "text" take no value, and only one of them stands, once`
	JSONValue  string        `graph:"json=x"`           // want `option "json=x": "json" and "text" take no value`
	JSONCache  *Item         `graph:"untracked,json"`   // want `an untracked field is not stored, so it has no form there; remove json or text`
	JSONPlain  []Item        `graph:"append,json"`      // want `State.JSONPlain: type Item has no methods MarshalJSON and UnmarshalJSON to store it by; remove the option json`
	TextPlain  map[int]*Item `graph:"merge,text"`       // want `type Item has no methods MarshalText and UnmarshalText to store it by; remove the option text`
	JSONString string        `graph:"json"`             // want `type string has no methods MarshalJSON`
	JSONUnion  []Doc         `graph:"union,json"`       // want `reducer "union" needs elements that == compares by value, got Doc`
	JSONFine   []Doc         `graph:"json,append"`      // in any order

	KeySwap   []string `grpah:"append"`                          // want `State.KeySwap: unknown tag key "grpah"; did you mean .graph:"append".\?`
	KeyCase   []string `Graph:"append"`                          // want `unknown tag key "Graph"`
	KeyShort  []string `json:"x" grap:"nonsense"`                // want `unknown tag key "grap"`
	KeyTwo    []string `grphs:"append"`                          // want `unknown tag key "grphs"`
	KeyTool   []string `graphgen:"append"`                       // want `unknown tag key "graphgen"`
	KeyOther  []Item   `reducer:"upsert,key=ID"`                 // want `unknown tag key "reducer"`
	KeyBoth   []string `graph:"append" grah:"union"`             // want `unknown tag key "grah"`
	KeyFine   []string `json:"last" db:"append" grpc:"last" x:y` // not ours to judge
	KeyQL     []string `graphql:"append" validate:"min=3,max=4"` // nor these
	KeyColumn []string `yaml:"merge" gorm:"name=x" groups:"sum"` // nor these
	Inner     Inner
}

// Inner is no state, and tags in it count as well.
type Inner struct {
	A string `grahp:"name=a"` // want `Inner.A: unknown tag key "grahp"; did you mean`
}

// Doc stores itself as JSON.
type Doc struct{ text []byte }

func (d Doc) MarshalJSON() ([]byte, error)     { return d.text, nil }
func (d *Doc) UnmarshalJSON(text []byte) error { d.text = text; return nil }

// Item is an element with an id.
type Item struct{ ID, ID2 string }

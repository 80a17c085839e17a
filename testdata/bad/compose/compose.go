// Package compose embeds structs that do not go together.
package compose

import "github.com/graphgen-go/graphgen/testdata/bad/compose/chat"

//graphgen:state
type State struct {
	Log           []string `graph:"append"`
	chat.Messages          // want `State.Messages: in chat.Messages.Log: has the name of field State.Log \(compose.compose.go:8:2\), and both are fields of the state; rename one of them`
	Titles        string   `graph:"name=title"` // want `State.Titles: wire name "title" is also that of field chat.Messages.Title \(compose.chat.chat.go:7\); give one of the fields another name with name=`
	Usage
	Counts
	chat.Hidden                  // want `in chat.Hidden.Log: has the name of field State.Log` `State.Hidden: in chat.Hidden.seen: is an unexported field of package chat, which code of package compose cannot reach; declare the struct in package compose, or tag the embedded struct graph:"replace" to store it as one field`
	chat.Base                    // want `in chat.Base.base: is an unexported field of package chat`
	*Pointer                     // want `State.Pointer: embeds Pointer by pointer, but its tags name reducers, and a nil pointer has no fields to merge; embed Pointer itself`
	Named       `graph:"name=n"` // want `State.Named: an option is for one field, but the fields of the embedded Named are fields of the state, since their tags name reducers; remove the tag, or add "replace" to store Named as one field`
	Kept        `graph:"replace"`
}

// Usage is a part of this package.
type Usage struct {
	Tokens int      `graph:"sum"`
	Lines  []string `graph:"apend"`        // want `Usage.Lines: unknown reducer "apend"; did you mean "append"\?`
	Counts chan int `graph:"last"`         // want `Usage.Counts: type chan int is a channel`
	Other  int      `graph:"max,name=Sum"` // no fault by itself
}

// Counts has names that Usage has.
type Counts struct {
	Tokens int64 `graph:"sum,name=tokens"` // want `Counts.Tokens: has the name of field Usage.Tokens \(compose.compose.go:22:2\), and both are fields of the state`
	Sum    int   `graph:"min"`             // want `Counts.Sum: wire name "Sum" is also that of field Usage.Other \(compose.compose.go:25:2\)`
	Max    int   `graph:"max,was=Tokens"`  // want `Counts.Max: was=Tokens is also a wire name of field Usage.Tokens`
}

// Pointer is embedded by pointer.
type Pointer struct {
	Count int `graph:"sum"` // no fault here
}

// Named is embedded with an option.
type Named struct {
	Marks []string `graph:"union"`
}

// Kept stays one field, so that its reducer has no effect.
type Kept struct {
	Marks []string `graph:"union"` // want `Kept.Marks: reducer "union" does nothing here, since Kept is not a state`
}

// Second has custom reducers of another package.
//
//graphgen:state
type Second struct {
	chat.Custom // want `reduce=edit: code of package compose cannot call an unexported function of package chat; export the function, or declare the struct in package compose with a function of your own` `in chat.Custom.Sum: reduce=Add \(compose.chat.chat.go:[0-9]+\) takes the old value as int64, but the field is int` `reduce=Missing: package chat declares no such function` `key=id: chat.Item has no field or method id that package compose can use` `in chat.Custom.State: type chat.state is not exported, so code of package compose cannot name it` `in chat.Custom.Map: type chat.state is not exported` `in chat.Custom.In.With: type chat.state is not exported` `in chat.Custom.Word: unknown reducer "lsat"`
	chat.Moved  // want `Second.Moved: in chat.Moved.Migrate: has the signature func\(\), but graphgen calls func \(s \*chat.Moved\) Migrate\(from \*state.OldFields\) error`
	Data        Nested
}

// Nested embeds a struct with reducers, but is no state.
type Nested struct {
	Inner
}

// Inner is no part.
type Inner struct {
	Log []string `graph:"append"` // want `Inner.Log: reducer "append" does nothing here, since Inner is not a state`
}

// Third embeds states of their own.
//
//graphgen:state
type Third struct {
	chat.Own
	Update // want `Third.Update: graphgen declares ThirdUpdate for this part and for a state; give the embedded struct another name, as in type Inner = Outer`
}

// Update is a state of its own.
//
//graphgen:state
type Update struct {
	Words []string `graph:"union"`
}

// ThirdOwn has the name of the variable for the part Own of Third.
var ThirdOwn int // want `ThirdOwn: graphgen declares this name for the part that Third embeds \(.*\); rename it`

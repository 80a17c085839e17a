// Package lookalikes has states whose names are parts of the names that are generated for others.
package lookalikes

//go:generate go tool graphgen -type=State,StateFields,StateNew,state,Codec,CodecItem,StateUpdated,StateChanges,Diff

// State would like to have graphgenStateFields for itself.
type State struct {
	Item   Item
	fields fields
}

// StateFields would be graphgenStateFields.
type StateFields struct {
	Item Item `graph:"last"`
}

// StateNew would be graphgenStateNew.
type StateNew struct {
	Item Item `graph:"last"`
}

type state struct {
	Item Item `graph:"last"`
}

// Codec would be graphgenCodec, which codecs begin with.
type Codec struct {
	Item Item `graph:"last"`
}

// CodecItem would be the codec of Item.
type CodecItem struct {
	Item Item `graph:"last"`
}

// StateUpdated is nearly an update.
type StateUpdated struct {
	Item Item `graph:"last"`
}

// StateChanges would be graphgenStateChanges.
type StateChanges struct {
	Item Item `graph:"last"`
}

// Diff has the diff DiffDiff.
type Diff struct {
	Item Item `graph:"last"`
}

// Item is in all of them.
type Item struct{ Tags []string }

type fields struct{ Tags []string }

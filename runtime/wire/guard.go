package wire

// The types in this file have one method each. Generated code embeds one of them next to a type
// that must not have the method. If that type gains the method, the selector is ambiguous, and the
// generated code does not compile until go generate has run.
type (
	// NoAppendWire is for types that other means than AppendWire store.
	NoAppendWire struct{}
	// NoMarshalBinary is for types that other means than MarshalBinary store.
	NoMarshalBinary struct{}
	// NoMarshalText is for types that other means than MarshalText store.
	NoMarshalText struct{}
	// NoMigrate is for states without Migrate.
	NoMigrate struct{}
)

// AppendWire does nothing.
func (NoAppendWire) AppendWire() {}

// MarshalBinary does nothing.
func (NoMarshalBinary) MarshalBinary() {}

// MarshalText does nothing.
func (NoMarshalText) MarshalText() {}

// Migrate does nothing.
func (NoMigrate) Migrate() {}

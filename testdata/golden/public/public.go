// Package public stores types of an SDK: by public names of internal types, and as JSON.
package public

import (
	"github.com/graphgen-go/graphgen/runtime/state/asjson"
	"github.com/graphgen-go/graphgen/testdata/golden/public/sdk"
)

//go:generate go tool graphgen -type=State

// State has fields of such types.
type State struct {
	Secret  sdk.Secret
	Kind    sdk.Kind
	Policy  *sdk.Policy
	Kinds   map[sdk.Kind][]sdk.Secret `graph:"merge"`
	Holder  sdk.Holder
	Schema  asjson.Value[sdk.Schema]
	Schemas []asjson.Value[sdk.Schema] `graph:"append"`
	Any     asjson.Value[any]
}

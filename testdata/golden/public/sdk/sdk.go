// Package sdk gives public names to types of an internal package, and has types for encoding/json.
package sdk

import "github.com/graphgen-go/graphgen/testdata/golden/public/sdk/internal/impl"

// The public names.
type (
	Secret = impl.Secret
	Policy = impl.Policy
	Kind   = impl.Kind
)

// Holder uses an internal type by its own name.
type Holder struct {
	Policy impl.Policy
	Many   []impl.Policy
	ByName map[string]*impl.Policy
}

// Schema has fields of any type.
type Schema struct {
	Name    string         `json:"name"`
	Default any            `json:"default,omitempty"`
	Extra   map[string]any `json:"extra,omitempty"`
	Calls   func()         `json:"-"`
}

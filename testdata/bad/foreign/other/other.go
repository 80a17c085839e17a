// Package other has types that other packages cannot take apart.
package other

import "github.com/graphgen-go/graphgen/testdata/bad/foreign/other/internal/secret"

// Hidden hides what it holds.
type Hidden struct{ n int }

// New returns a Hidden.
func New(n int) Hidden { return Hidden{n} }

// Deep holds a Hidden.
type Deep struct{ Inner Hidden }

type unnamed struct{ A int }

// Nameless has a field whose type cannot be named elsewhere.
type Nameless struct{ Inner unnamed }

// Secret has a field whose type cannot be imported elsewhere.
type Secret struct{ Inner secret.Secret }

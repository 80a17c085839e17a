// Package jsons stores types of other modules by their methods for JSON or text.
package jsons

import (
	"math/big"
	"time"

	"github.com/graphgen-go/graphgen/testdata/golden/jsons/vendored"
)

//go:generate go tool graphgen -type=State,Doc,Pages,Plain

// State has the options json and text with several reducers.
type State struct {
	Page   vendored.Page             `graph:"json"`
	Pages  []vendored.Page           `graph:"append,json"`
	ByName map[string]*vendored.Page `graph:"merge,json,name=by_name"`
	Last   *vendored.Page            `graph:"json,last,run"`
	Broken vendored.Broken           `graph:"json"`
	Number big.Int                   `graph:"json"`
	Text   big.Int                   `graph:"text"`
	At     time.Time                 `graph:"json"`
	Level  vendored.Level            `graph:"text"`
	Levels [2]vendored.Level         // field by field: no option
	Doc    Doc
}

// Doc is nested.
type Doc struct {
	Title string
	Pages [][]vendored.Page `graph:"json"`
	Level vendored.Level    `graph:"text"`
}

// Pages has pages as JSON, for comparison with Plain.
type Pages struct {
	Pages []vendored.Page `graph:"json"`
}

// Plain has the same pages with a generated codec.
type Plain struct{ Pages []Page }

// Page has the fields of vendored.Page.
type Page struct {
	Title string
	Tags  []string
}

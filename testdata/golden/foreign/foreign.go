// Package foreign stores what other packages have generated code for.
package foreign

import (
	"database/sql"
	"log/slog"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/testdata/golden/kinds"
	"github.com/graphgen-go/graphgen/testdata/golden/unions"
)

//go:generate go tool graphgen -type=State

// State holds payloads and structs of other packages.
type State struct {
	Doc       kinds.Doc
	Docs      []kinds.Doc `graph:"append"`
	Ptr       *kinds.Doc
	ByName    map[string]unions.Envelope `graph:"merge"`
	Name      kinds.Name
	Null      sql.NullString
	Header    http.Header
	Level     slog.Level
	Weekday   time.Weekday
	Envelopes []unions.Envelope
	Messages  []unions.Message `graph:"append"`
}

// The members of an interface of another package are listed in each package that uses it.
//
//graphgen:union unions.Message = *unions.User | unions.Tool

package main

import (
	"math"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/state"
)

//go:generate go tool graphgen -type=Parcel,Letter

// Parcel is the state of a parcel. The old version also has the field Owner, and not the field
// Label.
type Parcel struct {
	Label string
	Steps []string `graph:"append"`
}

// Letter is the state of a letter.
type Letter struct {
	Price int64    // in cents; the old version has text
	Steps []string `graph:"append"`
}

// Migrate reads a price of the old version.
func (l *Letter) Migrate(from *state.OldFields) error {
	if text, ok := from.String("Price"); ok {
		price, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		l.Price = int64(math.Round(price * 100))
	}
	return nil
}

package main

//go:generate go tool graphgen -type=Parcel,Letter

// Parcel is the state of a parcel.
type Parcel struct {
	Owner string   // the new version does not have it
	Steps []string `graph:"append"`
}

// Letter is the state of a letter.
type Letter struct {
	Price string   // such as 0.95
	Steps []string `graph:"append"`
}

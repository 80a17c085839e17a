// Package others has interfaces that states of another package hold.
package others

// Listed is a union whose codec the package does not export.
type Listed interface{ listed() }

//graphgen:union Listed = Member

// Member is a member of Listed.
type Member struct{}

func (Member) listed() {}

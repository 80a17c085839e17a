// Package state is what generated code stands on and what node functions write in updates.
package state

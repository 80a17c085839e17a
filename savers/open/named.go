package open

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Savers are savers by name, from which each graph is given its own. It is a plain map: the zero Savers has none, and
// like any map it must not be changed while others read it.
type Savers map[string]checkpoint.Saver

// NameError says that no saver has a name.
type NameError struct {
	Name  string
	Known []string // those that there are, sorted
}

func (e *NameError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("open: no saver is named %q: there are none", e.Name)
	}
	return fmt.Sprintf("open: no saver is named %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// Named returns the saver of a name, or a *NameError that lists the names.
func (s Savers) Named(name string) (checkpoint.Saver, error) {
	if saver := s[name]; saver != nil {
		return saver, nil
	}
	return nil, &NameError{Name: name, Known: slices.Sorted(maps.Keys(s))}
}

// Close closes all of them, also when closing some fails; the error is all of theirs.
func (s Savers) Close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s[name] == nil {
			continue
		}
		if err := s[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("open: close %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

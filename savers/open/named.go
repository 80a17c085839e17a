package open

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Savers maps names to savers, one for each graph of a program. It is a plain map. It must not be
// changed while it is read concurrently.
type Savers map[string]checkpoint.Saver

// NameError reports a name without a saver.
type NameError struct {
	Name  string
	Known []string // the existing names, sorted
}

func (e *NameError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("open: no saver is named %q; add it to the Savers, which have none", e.Name)
	}
	return fmt.Sprintf("open: no saver is named %q; want one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Named returns the saver with that name. It returns a *NameError with all names if there is none.
func (s Savers) Named(name string) (checkpoint.Saver, error) {
	if saver := s[name]; saver != nil {
		return saver, nil
	}
	return nil, &NameError{Name: name, Known: slices.Sorted(maps.Keys(s))}
}

// Close closes all savers, even if closing one fails. It returns the errors of all of them.
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

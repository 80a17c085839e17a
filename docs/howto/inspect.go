package howto

import (
	"errors"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// InspectPages returns the pages of the threads of app, for operators and for the users whose
// threads these are. user returns the name of the user of a request, as the login stored it.
func InspectPages(
	saver checkpoint.Saver, app *graph.Graph[State, StateUpdate], user func(r *http.Request) string,
) (*inspect.Inspector, error) {
	return inspect.New(saver, inspect.Options{
		Allow: []inspect.Action{inspect.Answer, inspect.Wake, inspect.Cancel, inspect.Submit},
		Actor: user,
		Authorize: func(r *http.Request, a inspect.Access) error {
			name := user(r)
			switch {
			case name == "":
				return errors.New("log in first")
			case name == "operator" || a.Thread == "": // a page about no single thread
				return nil
			case a.New && strings.HasPrefix(a.Thread, name+"/"), a.Labels["owner"] == name:
				return nil
			}
			return errors.New("the thread belongs to another user")
		},
	}, app)
}

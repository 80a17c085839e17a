package inspect

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// Action is something that a page does.
type Action string

// The actions. View shows threads, and Download returns all data of a thread as an archive. Both
// are always allowed, unless Authorize refuses them. The others change threads.
const (
	View     Action = "view"
	Download Action = "download"
	Answer   Action = "answer"  // answers a question
	Signal   Action = "signal"  // sends a signal
	Submit   Action = "submit"  // submits an input, also to a new thread
	Wake     Action = "wake"    // makes a thread due, for a worker
	Resume   Action = "resume"  // resumes a thread in this process
	Replay   Action = "replay"  // runs the tasks of an older checkpoint again
	Edit     Action = "edit"    // changes a state, at the head or as a fork
	Cancel   Action = "cancel"  // cancels what a thread was asked
	Release  Action = "release" // closes the version of a thread
	Delete   Action = "delete"  // removes threads
	Pause    Action = "pause"   // pauses and resumes a graph, a queue or a schedule
	Trigger  Action = "trigger" // fires a schedule
)

// AllActions returns all actions that change threads, for Options.Allow.
func AllActions() []Action {
	return []Action{Answer, Signal, Submit, Wake, Resume, Replay, Edit, Cancel, Release, Delete, Pause, Trigger}
}

// Access is an action of a request on a thread. Pause and Trigger are actions on the thread that
// stores them: worker.PauseThread with the Graph that is paused, worker.PauseQueueThread without a
// Graph, or schedule.Thread.
type Access struct {
	Action Action
	Thread string            // empty for pages about no single thread, such as the list
	Graph  string            // of the thread; empty if it is unknown
	Labels map[string]string // of the thread, nil if they are unknown; must not be modified
	New    bool              // nothing is stored of Thread: Submit begins it
}

// errDenied is the error of an action that the Options do not allow.
var errDenied = errors.New("the pages are served without this action; add it to Allow of inspect.Options")

// deniedError is an error of Authorize.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return e.err.Error() }
func (e *deniedError) Unwrap() error { return e.err }

// check returns an error if a request must not do something.
func (in *Inspector) check(r *http.Request, a Access) error {
	if !in.allowed[a.Action] {
		return &deniedError{fmt.Errorf("%s: %w", a.Action, errDenied)}
	}
	if in.opt.Authorize != nil {
		if err := in.opt.Authorize(r, a); err != nil {
			return &deniedError{err}
		}
	}
	return nil
}

// accessTo returns an action on a thread.
func accessTo(a Action, t *checkpoint.Thread) Access {
	return Access{Action: a, Thread: t.ID, Graph: t.Graph, Labels: t.Labels}
}

// sees returns an error if a request must not see a thread, or must not do a with it.
func (in *Inspector) sees(r *http.Request, a Action, t *checkpoint.Thread) error {
	if err := in.check(r, accessTo(View, t)); err != nil || a == View {
		return err
	}
	return in.check(r, accessTo(a, t))
}

// operator returns the operations on the threads that a request may see.
func (in *Inspector) operator(r *http.Request) *operate.Operator {
	o := in.ops
	if in.opt.Authorize != nil {
		o.Sees = func(t *checkpoint.Thread) bool { return in.sees(r, View, t) == nil }
	}
	return &o
}

// permits has the names of the actions that a page offers.
type permits map[string]bool

// may returns the actions that a request may do with a thread.
func (in *Inspector) may(r *http.Request, t *checkpoint.Thread) permits {
	may := make(permits)
	for a := range in.allowed {
		if in.apps[t.Graph] == nil && (a == Edit || a == Replay || a == Resume) || !fits(a, t) {
			continue
		}
		may[string(a)] = in.sees(r, a, t) == nil
	}
	return may
}

// fits reports whether an action makes sense on a thread. Nothing waits for a signal or a run in a
// thread that has ended and has no further inputs.
func fits(a Action, t *checkpoint.Thread) bool {
	if a == Resume {
		return operate.Cancel.Fits(t) || t.Status == checkpoint.Cancelled
	}
	return operate.Action(a).Fits(t)
}

// policy is the Content-Security-Policy of the pages. Forms and scripts reach only this server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard adds headers, limits the size of requests, and refuses requests from other sites.
func (in *Inspector) guard(next http.Handler) http.Handler {
	sameSite := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if in.opt.Authorize == nil && !trustedHost(r) {
			in.fail(w, r, &deniedError{fmt.Errorf("the host %q is not that of this server; open it by localhost, or set Authorize", r.Host)})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, in.opt.MaxBody)
		sameSite.ServeHTTP(w, r)
	})
}

// trustedHost reports whether the name by which a request addresses the server is no name of
// another site. A server on a loopback address must be addressed by a loopback name.
func trustedHost(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	addr, ok := local.(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

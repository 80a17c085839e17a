package howto

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/inspect"
)

var (
	errNoLogin    = errors.New("log in first")
	errWrongGroup = errors.New("your groups do not allow this")
)

// login returns the name and the groups of the user of a request. The proxy that has logged the
// user in sets both headers, and drops those of the browser.
func login(r *http.Request) (name string, groups []string) {
	return r.Header.Get("X-Forwarded-User"), strings.Split(r.Header.Get("X-Forwarded-Groups"), ",")
}

// permit allows an action to the users of some groups.
func permit(r *http.Request, a inspect.Access) error {
	name, groups := login(r)
	if name == "" {
		return errNoLogin
	}
	allowed := []string{"admins"}
	switch a.Action {
	case inspect.View, inspect.Download:
		allowed = []string{"viewers", "operators", "admins"}
	case inspect.Answer, inspect.Signal, inspect.Submit, inspect.Wake, inspect.Cancel, inspect.Pause, inspect.Trigger:
		allowed = []string{"operators", "admins"}
	}
	if !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(allowed, g) }) {
		return errWrongGroup
	}
	return nil
}

// LoginOptions returns the options of an Inspector behind a proxy that logs users in.
func LoginOptions() inspect.Options {
	return inspect.Options{
		Allow:     inspect.AllActions(),
		Authorize: permit,
		Actor:     func(r *http.Request) string { name, _ := login(r); return name },
	}
}

// AuditPages logs a line for each request that can change something: who, what, and its result.
func AuditPages(pages http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			pages.ServeHTTP(w, r)
			return
		}
		name, _ := login(r)
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		r.Body = http.MaxBytesReader(w, r.Body, 4<<20) // as the default of inspect
		if err := r.ParseForm(); err != nil {
			http.Error(s, err.Error(), http.StatusBadRequest)
		} else {
			pages.ServeHTTP(s, r)
		}
		of := cmp.Or(r.PostForm.Get("of"), "thread") // the page of workers names a graph, a queue or a schedule
		log.Info("audit", "user", name, "page", r.URL.Path, "action", r.PostForm.Get("action"), "of", of, "id", r.PostForm.Get("id"), "status", s.status)
	})
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// Unwrap lets http.ResponseController find the methods of the response.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes the status.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

package inspect

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/shape/value"
)

// bad returns an error of a request.
func bad(format string, args ...any) error {
	return &operate.RequestError{Text: fmt.Sprintf(format, args...)}
}

// conflictError is an error of a request that another one was faster than.
type conflictError struct{ text string }

func (e *conflictError) Error() string { return e.text }

// Is reports whether target is ErrConflict.
func (e *conflictError) Is(target error) bool { return target == checkpoint.ErrConflict }

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	var denied *deniedError
	var wrong *operate.RequestError
	var json *value.JSONError
	var locked *operate.LockedError
	var large *http.MaxBytesError
	var invalid *checkpoint.InvalidError
	var refused *graph.AnswerError
	switch {
	case errors.As(err, &denied), errors.As(err, &locked), errors.Is(err, encrypt.ErrNoKey):
		return http.StatusForbidden
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &wrong), errors.As(err, &json), errors.As(err, &invalid), errors.Is(err, graph.ErrNotReceivable):
		return http.StatusBadRequest
	case errors.As(err, &refused):
		return http.StatusUnprocessableEntity
	case errors.Is(err, checkpoint.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, graph.ErrNotAsked), errors.Is(err, graph.ErrUnfinished),
		errors.Is(err, graph.ErrReleased), errors.Is(err, checkpoint.ErrInboxFull), errors.Is(err, checkpoint.ErrNotIdle):
		return http.StatusConflict
	case errors.Is(err, checkpoint.ErrUnavailable):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// failure is the page of an error.
type failure struct {
	head
	Status int
	Name   string
	Text   string
	Back   string // the address of the thread; empty for none
}

// fail answers with the page of an error. Its text is that of the error, so that the reader can
// act on it. Everybody who sees the pages may see the data of the saver.
func (in *Inspector) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody reads the answer
	}
	f := failure{head: in.head(r, "Error"), Status: statusOf(err), Text: err.Error()}
	f.Name = http.StatusText(f.Status)
	if p, err := placeOf(r.URL.Query()); err == nil && p.Thread != "" {
		f.Back = p.link("thread")
	}
	in.render(w, f.Status, "error", f)
}

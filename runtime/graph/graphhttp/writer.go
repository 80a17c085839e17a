package graphhttp

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// writer writes server-sent events in the format of the HTML standard.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	buf     []byte
}

// goneError means that the client has disconnected or stopped reading.
type goneError struct{ err error }

func (e *goneError) Error() string { return "the client is gone: " + e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }

func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	return &writer{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// canFlush reports whether w can flush. It follows Unwrap as http.ResponseController does, but
// does not flush.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// header sets the header of a stream.
func (o *writer) header() {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform") // compression would hold events back
	h.Set("X-Accel-Buffering", "no")                 // asks proxies not to buffer the response
}

// begin sends the header, so that the client knows immediately that it is connected.
func (o *writer) begin() error {
	o.header()
	o.buf = append(o.buf[:0], "retry: 1000\n\n"...)
	return o.flush()
}

// comment sends a comment, which clients ignore.
func (o *writer) comment() error {
	o.buf = append(o.buf[:0], ":\n\n"...)
	return o.flush()
}

// send writes all messages in one flush. An empty message only updates the client's last id.
func (o *writer) send(ms []message) error {
	o.buf = o.buf[:0]
	for i := range ms {
		o.append(&ms[i])
	}
	if len(o.buf) == 0 {
		return nil
	}
	return o.flush()
}

func (o *writer) append(m *message) {
	switch {
	case !m.id.IsZero():
		o.buf = append(o.buf, "id: "+m.id.String()+"\n"...)
	case m.at != "":
		o.buf = append(o.buf, "id: "+m.at+"\n"...)
	}
	silent := m.Name == "" && m.Data == nil
	if silent && m.id.IsZero() {
		return
	}
	if !silent {
		if m.broken { // all clients reconnect together, and the cause may last
			o.buf = append(o.buf, "retry: 5000\n"...)
		}
		if m.Name != "" {
			o.buf = append(o.buf, "event: "+oneLine.Replace(m.Name)+"\n"...)
		}
		for line := range bytes.SplitSeq(newlines(m.Data), []byte("\n")) {
			o.buf = append(o.buf, "data: "...)
			o.buf = append(append(o.buf, line...), '\n')
		}
	}
	o.buf = append(o.buf, '\n')
}

// oneLine replaces line ends in a name, so that a name cannot add fields.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// newlines replaces all line ends of the standard by \n, because a bare \r would end the field.
func newlines(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

// piece is the number of bytes that a client must take within the timeout. Large states are
// written in pieces, so that slow clients get them too.
const piece = 64 << 10

// flush writes the contents of buf.
func (o *writer) flush() error {
	for b := range slices.Chunk(o.buf, piece) {
		err := o.control.SetWriteDeadline(time.Now().Add(o.timeout))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return &goneError{err}
		}
		if _, err := o.w.Write(b); err != nil {
			return &goneError{err}
		}
		if err := o.control.Flush(); err != nil {
			return &goneError{err}
		}
	}
	if cap(o.buf) > 16*piece {
		o.buf = nil // do not keep a large buffer for the life of the stream
	}
	return nil
}

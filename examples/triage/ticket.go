package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"regexp"
	"strings"
	"time"
)

// Ticket is one message of a customer.
type Ticket struct {
	ID          string       `json:"id"`
	From        string       `json:"from"` // empty when the form was sent without an address
	Lang        string       `json:"lang"` // as the customer's browser said; empty when it did not
	Subject     string       `json:"subject"`
	Body        string       `json:"body"`
	Received    time.Time    `json:"received"`
	Order       string       `json:"order"` // empty when the ticket names none
	Attachments []Attachment `json:"attachments"`
}

// Attachment is a file that came with a ticket. Only its name and size travel.
type Attachment struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Line is one ticket as it stands in a file: not yet looked at, but for its id.
type Line struct {
	ID  string
	Raw []byte
}

// longestLine bounds one line of a tickets file: a form lets nobody write more than this.
const longestLine = 1 << 20

// ticketID is what an id may look like. It becomes a thread's id and part of file names.
var ticketID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// readLines reads a file of one JSON object a line; name is for its errors. It looks at the ids only: whether a
// ticket makes sense is the parse node's to say, so that one bad ticket does not hold up the others.
func readLines(r io.Reader, name string) ([]Line, error) {
	var lines []Line
	seen := make(map[string]int)
	in := bufio.NewScanner(r)
	in.Buffer(nil, longestLine)
	for n := 1; in.Scan(); n++ {
		raw := bytes.TrimSpace(in.Bytes())
		if len(raw) == 0 {
			continue
		}
		var head struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("%s:%d: not a ticket: %w; want one JSON object a line", name, n, err)
		}
		if !ticketID.MatchString(head.ID) {
			return nil, fmt.Errorf("%s:%d: id %q: want 1 to 64 letters, digits and hyphens", name, n, head.ID)
		}
		if first, ok := seen[strings.ToLower(head.ID)]; ok {
			return nil, fmt.Errorf("%s:%d: id %q is taken by line %d; ids name files, so case does not tell them apart", name, n, head.ID, first)
		}
		seen[strings.ToLower(head.ID)] = n
		lines = append(lines, Line{ID: head.ID, Raw: bytes.Clone(raw)})
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: no tickets in it", name)
	}
	return lines, nil
}

// parseTicket reads one line and says everything that is wrong with it.
func parseTicket(raw []byte) (Ticket, error) {
	var t Ticket
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	if err := in.Decode(&t); err != nil {
		return Ticket{}, fmt.Errorf("ticket: %w", err)
	}
	t.Subject = strings.TrimSpace(t.Subject)
	t.Body = strings.TrimSpace(t.Body)
	var wrong []error
	if !ticketID.MatchString(t.ID) {
		wrong = append(wrong, fmt.Errorf("id: %q; want 1 to 64 letters, digits and hyphens", t.ID))
	}
	if t.Subject == "" && t.Body == "" {
		wrong = append(wrong, errors.New("body: subject and body are empty; want text in one of them"))
	}
	if t.Received.IsZero() {
		wrong = append(wrong, errors.New("received: missing; want a time like 2026-11-02T08:14:09Z"))
	}
	if a, err := mail.ParseAddress(t.From); t.From != "" && (err != nil || a.Address != t.From) {
		wrong = append(wrong, fmt.Errorf("from: %q is not a bare mail address", t.From))
	}
	for i, a := range t.Attachments {
		if a.Bytes < 0 {
			wrong = append(wrong, fmt.Errorf("attachments[%d]: %q has %d bytes", i, a.Name, a.Bytes))
		}
	}
	if len(wrong) > 0 {
		return Ticket{}, fmt.Errorf("ticket %s: %w", t.ID, errors.Join(wrong...))
	}
	return t, nil
}

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
	From        string       `json:"from"` // empty if the form was sent without an address
	Lang        string       `json:"lang"` // the language of the customer's browser; empty if unknown
	Subject     string       `json:"subject"`
	Body        string       `json:"body"`
	Received    time.Time    `json:"received"`
	Order       string       `json:"order"` // empty if the ticket names none
	Attachments []Attachment `json:"attachments"`
}

// Attachment is a file of a ticket. Only its name and size are known.
type Attachment struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Line is one line of a tickets file, parsed only for its id.
type Line struct {
	ID  string
	Raw []byte
}

// longestLine is the maximum length of a line in a tickets file.
const longestLine = 1 << 20

// ticketID matches valid ids. An id becomes the id of a thread and part of file names.
var ticketID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// readLines reads a file with one JSON object on each line. name is for error messages. It checks
// only the ids. The parse node checks the tickets, so that an invalid ticket does not block the
// others.
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
			return nil, fmt.Errorf("%s:%d: id %q is taken by line %d; ids are file names, which must differ in more than case", name, n, head.ID, first)
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

// parseTicket parses one line. It returns all faults.
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

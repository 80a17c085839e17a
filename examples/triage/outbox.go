package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// outbox is a folder with a letter for each ticket and a payment for each refund.
//
// A repeated task writes the same file again, and a file appears completely or not at all. If a
// node crashes after its effect and runs again, the effect therefore happens once.
type outbox struct{ dir string }

// Letter is the outcome of a ticket.
type Letter struct {
	Ticket     string     `json:"ticket"`
	Outcome    Outcome    `json:"outcome"`
	To         string     `json:"to,omitempty"`
	Subject    string     `json:"subject,omitempty"`
	Text       string     `json:"text,omitempty"` // the reply; for a person who takes over, the last draft
	Refund     string     `json:"refund,omitempty"`
	Reason     string     `json:"reason,omitempty"` // why a person takes over
	Labels     []Category `json:"labels"`
	Desk       string     `json:"desk,omitempty"`
	Priority   int        `json:"priority,omitempty"`
	ReplyHours int        `json:"replyHours,omitempty"`
	Urgent     bool       `json:"urgent"`
	Task       string     `json:"task"` // the key of the task that sent it
}

// payment is an order to pay a refund.
type payment struct {
	Ticket string `json:"ticket"`
	Amount Money  `json:"amount"`
	Task   string `json:"task"`
}

// newLetter returns the letter for the outcome in a state. task is the key of the task that sends
// it.
func newLetter(s *State, task string) Letter {
	l := Letter{
		Ticket: s.Ticket.ID, Outcome: s.Outcome, To: s.Ticket.From, Subject: s.Ticket.Subject, Text: s.Reply.Text(),
		Labels: s.Labels, Desk: s.Desk, Priority: s.Priority, ReplyHours: s.ReplyHours, Urgent: s.Urgent, Task: task,
	}
	switch s.Outcome {
	case Refunded:
		l.Refund = s.Refund.String()
	case HandedOver:
		l.Reason = s.Handover
	}
	return l
}

// send puts a letter in the outbox.
func (o outbox) send(l Letter) error { return o.put(l.Ticket+".json", l.Task, l) }

// pay orders the refund for a ticket.
func (o outbox) pay(ticket string, m Money, task string) error {
	return o.put(ticket+".refund.json", task, payment{Ticket: ticket, Amount: m, Task: task})
}

// letter reads the letter of a ticket. It returns fs.ErrNotExist if there is none.
func (o outbox) letter(ticket string) (Letter, error) {
	var l Letter
	raw, err := os.ReadFile(filepath.Join(o.dir, ticket+".json"))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return l, fmt.Errorf("the letter of %s: %w", ticket, err)
	}
	return l, nil
}

// tickets returns the ids of the tickets that have a letter, sorted.
func (o outbox) tickets() ([]string, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && ticketID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// put writes v under name. It writes and syncs a temporary file with the key of the task in its
// name, and then renames the file. A retry of the task overwrites the temporary file of the
// previous attempt.
func (o outbox) put(name, task string, v any) (err error) {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("outbox: %s: %w", name, err)
	}
	if err := o.open(); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	part := filepath.Join(o.dir, "."+name+"."+task)
	if err := writeSynced(part, append(raw, '\n')); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if err := os.Rename(part, filepath.Join(o.dir, name)); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if err := syncDir(o.dir); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// open creates the folder durably if necessary.
func (o outbox) open() error {
	if _, err := os.Stat(o.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	return syncDir(filepath.Dir(o.dir))
}

// writeSynced writes a file and syncs it to disk.
func writeSynced(name string, raw []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

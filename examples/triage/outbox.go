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

// outbox is a folder of what left the house: a letter a ticket, and a payment where money went back.
//
// Doing the same task again writes the same file again, and a file appears whole or not at all. So a node that dies
// between its effect and its acknowledgement, and is run again, has had its effect once.
type outbox struct{ dir string }

// Letter is what a ticket came to.
type Letter struct {
	Ticket     string     `json:"ticket"`
	Outcome    Outcome    `json:"outcome"`
	To         string     `json:"to,omitempty"`
	Subject    string     `json:"subject,omitempty"`
	Text       string     `json:"text,omitempty"` // of the reply; for a person who takes over, of the last draft
	Refund     string     `json:"refund,omitempty"`
	Reason     string     `json:"reason,omitempty"` // why a person takes over
	Labels     []Category `json:"labels"`
	Desk       string     `json:"desk,omitempty"`
	Priority   int        `json:"priority,omitempty"`
	ReplyHours int        `json:"replyHours,omitempty"`
	Urgent     bool       `json:"urgent"`
	Task       string     `json:"task"` // the key of the task that sent it
}

// payment is an order to give money back.
type payment struct {
	Ticket string `json:"ticket"`
	Amount Money  `json:"amount"`
	Task   string `json:"task"`
}

// newLetter returns the letter that a state comes to. task is the key of the task that sends it.
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

// pay orders money to be given back for a ticket.
func (o outbox) pay(ticket string, m Money, task string) error {
	return o.put(ticket+".refund.json", task, payment{Ticket: ticket, Amount: m, Task: task})
}

// letter reads the letter of a ticket. There is none yet: fs.ErrNotExist.
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

// put writes v under name. The bytes go to a file beside it that is named by the task, are forced to the disk, and
// only then take the name; a later try of the same task writes over what an earlier one left.
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

// open makes the folder if need be, durably.
func (o outbox) open() error {
	if _, err := os.Stat(o.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	return syncDir(filepath.Dir(o.dir))
}

// writeSynced writes a file and forces it to the disk.
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

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/gen"
)

// note prints the changes that stored threads survive on a condition.
func (c *command) note(result *gen.Result) {
	for _, change := range result.Changes {
		if change.Verdict == gen.Noted {
			c.print(c.stderr, verdict(change)+"\n")
		}
	}
}

// verdict returns a change on one line, with its verdict before the message.
func verdict(change gen.Change) string {
	word := map[gen.Verdict]string{gen.Allowed: "allowed", gen.Noted: "note", gen.Refused: "refused"}[change.Verdict]
	d := change.Diagnostic
	d.Message = word + ": " + d.Message
	return d.String()
}

// compareLocks begins the lock files that are missing. It prints the changes since the others were
// written, and records them with -accept.
func (c *command) compareLocks(ctx context.Context) int {
	result, err := gen.Lock(ctx, c.config())
	if err != nil {
		return c.fail(err)
	}
	if c.report(result) {
		return exitFailed
	}
	begun, err := c.begin(result)
	if err != nil {
		return c.fail(err)
	}
	status := exitOK
	for _, change := range result.Changes {
		if begun[change.Lock] {
			continue
		}
		c.print(c.stdout, verdict(change)+"\n")
		if status = max(status, exitDiffers); change.Verdict == gen.Refused {
			status = exitFailed
		}
	}
	if !c.accept.given {
		return status
	}
	if err := c.accept.check(result.Changes, begun); err != nil {
		return c.fail(err)
	}
	return c.write(result)
}

// acceptance is the value of -accept: all changes without a value, or the subjects of the refused
// changes to record.
type acceptance struct {
	given bool
	names []string
}

// String implements flag.Value.
func (a *acceptance) String() string { return strings.Join(a.names, ",") }

// IsBoolFlag lets package flag accept -accept without a value.
func (a *acceptance) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (a *acceptance) Set(text string) error {
	if a.given {
		return errors.New("the flag is given twice; give it once, with all names")
	}
	if a.given = true; text != "true" {
		a.names = strings.Split(text, ",")
	}
	return nil
}

// check reports refused changes that the names leave out, and names without a refused change.
func (a *acceptance) check(changes []gen.Change, begun map[string]bool) error {
	if len(a.names) == 0 {
		return nil
	}
	refused := make(map[string]bool)
	for _, change := range changes {
		if change.Verdict == gen.Refused && !begun[change.Lock] {
			refused[change.Subject] = true
		}
	}
	for subject := range refused {
		if !slices.Contains(a.names, subject) {
			return fmt.Errorf("-accept does not name %s, which has a refused change; nothing is recorded: name it, too, or undo the change", subject)
		}
	}
	for _, name := range a.names {
		if !refused[name] {
			return fmt.Errorf("-accept names %q, which has no refused change; nothing is recorded: leave it out", name)
		}
	}
	return nil
}

// begin writes the lock files that are missing, and returns their paths.
func (c *command) begin(result *gen.Result) (map[string]bool, error) {
	begun := make(map[string]bool)
	for _, file := range result.Files {
		if _, err := os.Stat(file.Path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := file.Write(); err != nil {
			return nil, err
		}
		begun[file.Path] = true
		c.print(c.stderr, fmt.Sprintf("graphgen: began %s; commit it\n", file.Path))
	}
	return begun, nil
}

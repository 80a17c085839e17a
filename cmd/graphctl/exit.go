package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/open"
	"github.com/graphgen-go/graphgen/shape/value"
)

// The exit codes. Scripts depend on them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitDamaged     = 5
	exitUnavailable = 6
	exitInterrupted = 130
)

const exitCodes = `0    The command succeeded.
1    It failed for another reason. For commands on many threads: some of them failed.
2    The command line, the environment or the JSON is wrong. Nothing was changed.
3    The thread, the checkpoint, the question or the storage does not exist.
4    The thread changed, is busy, is not idle or has a full inbox. Nothing was changed.
5    Stored data is damaged.
6    The server is not available, or the timeout passed. It is unknown whether a write was stored.
130  The command was interrupted.`

// exitCodesTopic returns the help topic about exit codes.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes", Long: "The exit codes of graphctl:\n\n" + exitCodes}
}

// usageError is an error of the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// missingError reports something that does not exist.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// noThread is the error for a thread that does not exist.
func noThread(id string) error {
	return &missingError{"there is no thread " + quoteID(id) + "; graphctl threads lists them"}
}

// Is reports whether target is ErrNotFound.
func (e *missingError) Is(target error) bool { return target == checkpoint.ErrNotFound }

// exitCode returns the exit code of an error. Of several joined errors the worst counts: damage,
// then a server that is unavailable, then the others.
func exitCode(err error) int {
	var (
		usage   *usageError
		invalid *checkpoint.InvalidError
		url     *open.URLError
		request *operate.RequestError
		json    *value.JSONError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.As(err, &url), errors.As(err, &invalid), errors.As(err, &request), errors.As(err, &json):
		return exitUsage
	case errors.Is(err, encrypt.ErrNoKey):
		return exitFailed
	case errors.Is(err, checkpoint.ErrDamaged):
		return exitDamaged
	case errors.Is(err, checkpoint.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrInboxFull), errors.Is(err, checkpoint.ErrNotIdle):
		return exitConflict
	case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, graph.ErrNotAsked):
		return exitNotFound
	}
	return exitFailed
}

// hint returns the text of an error with a remedy that a user of this command has.
func hint(err error) string {
	text := err.Error()
	if json := (*value.JSONError)(nil); errors.As(err, &json) {
		text += "; nothing was stored"
	}
	if errors.Is(err, graph.ErrNotAsked) {
		text += "; graphctl waiting lists the open ones"
	}
	if without := (*sealedError)(nil); errors.Is(err, encrypt.ErrNoKey) && !errors.As(err, &without) {
		text = strings.ReplaceAll(text, "; pass that key to encrypt.New", "; give that key, too, by --key-file FILE or $"+envKeys)
	}
	return text
}

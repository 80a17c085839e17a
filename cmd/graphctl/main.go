// Graphctl (experimental) reads and changes the threads of any saver, without the Go types of the
// programs that wrote them.
//
//	graphctl --saver sqlite:///var/lib/app/threads.db threads --status waiting
//	graphctl threads -s postgres://app@db/app --graph orders -o jsonl
//	graphctl show order-7
//	graphctl history order-7
//	graphctl answer order-7 QUESTION '{"OK": true}'
//	graphctl copy --to postgres://app@new/app
//
// Threads store a description of their state. Graphctl uses it to name fields, and to check the
// JSON of an input or an answer before it stores anything. Run graphctl help for the commands and
// graphctl help exit-codes for the exit codes. docs/howto/graphctl.md shows tasks.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now, since: time.Since}, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is one execution of the command: its surroundings and the flags of all commands.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	now      func() time.Time
	since    func(time.Time) time.Duration // for ages

	source  store // the saver that the commands work on
	format  string
	timeout time.Duration
}

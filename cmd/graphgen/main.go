// Graphgen writes the code that a typed graph runs on: for a struct with graph tags, the type of its updates, how they are
// merged, copies, comparison and the codec.
//
// Usage:
//
//	go tool graphgen [flags] [packages]
//
// Packages are named as for the go command; none means the one in the current directory. With -type, graphgen generates
// for the named types of one package. Without it, it generates for every type that asks for it, in all
// packages: by a comment //graphgen:state or //graphgen:payload above the type, or by a line //go:generate that runs graphgen.
// The usual way is a line above the state
//
//	//go:generate go tool graphgen -type=State
//
// and go generate. The file goes into the folder of the source and has the name of the first type: state_graphgen.go. If
// several types carry //graphgen:state, their file has the name of the package. It is part of the same builds as the source: for a state in state_linux.go it is state_linux_graphgen.go, for one in a test file
// state_graphgen_test.go. Graphgen prints what it wrote, and overwrites only what it wrote.
//
// Flags:
//
//	-type State,Doc  the types to generate for; the first is a state, a later one is a state when a field of it names a
//	                 reducer, and a payload (AppendWire and DecodeWire) otherwise; //graphgen:state and //graphgen:payload
//	                 above a type decide instead
//	-o file          the file to write instead, in the folder of the package; without -type, for the types that carry
//	                 //graphgen:state or //graphgen:payload
//	-check           write nothing; print what would change as a diff
//	-v               also say which files were as they should be
//	-version         print the version
//	-h               print this
//
// A field's reducer stands in its tag and says how an update is merged:
//
//	Status   string            // replace: two parallel writers in one superstep are an error
//	Picked   string            `graph:"last"`           // replace; the last in task order wins
//	Owner    string            `graph:"first"`          // write once
//	Log      []string          `graph:"append"`
//	Messages []Message         `graph:"upsert,key=ID"`  // replace the element with the same ID, else append; or a method: key=ID
//	Tags     []string          `graph:"union"`          // append what is not there yet
//	Facts    map[string]Fact   `graph:"merge"`
//	Tokens   int64             `graph:"sum"`            // also min, max; and, or for bools
//	Plan     *Plan             `graph:"reduce=edit"`    // func edit(old *Plan, in PlanEdit) *Plan
//	Draft    string            `graph:"ephemeral"`      // lives for the next superstep only
//	Cache    *Cache            `graph:"untracked"`      // in memory for the run, never stored
//	History  []Message         `graph:"append,name=hist,was=old_hist"` // name in stored data, and names it had
//
// In structs within a state name=, was= and "-" (not stored) have the same meaning. What an interface holds is listed once, in
// the package of the state:
//
//	//graphgen:union Message = *User | *Assistant | *Tool
//
// Faults in the sources are printed all at once, one a line, as file:line:column: State.Field: what is wrong; how to fix it.
// Nothing is written then. The exit status is 0 when all is well, 1 when -check found a difference, and 2 when
// nothing could be generated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"github.com/graphgen-go/graphgen/gen"
)

// The exit statuses.
const (
	exitOK = iota
	exitDiffers
	exitFailed
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is what the flags say.
type command struct {
	types, output           string
	check, verbose, version bool
	patterns                []string
	stdout, stderr          io.Writer
}

// run runs the command with args, which do not include its name, and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	c := command{stdout: stdout, stderr: stderr}
	if err := c.parse(args); errors.Is(err, flag.ErrHelp) {
		c.print(stdout, manual)
		return exitOK
	} else if err != nil {
		c.print(stderr, fmt.Sprintf("graphgen: %v; graphgen -h is the manual\n", err))
		return exitFailed
	}
	if c.version {
		c.print(stdout, "graphgen "+gen.Version+" "+runtime.Version()+"\n")
		return exitOK
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return c.generate(ctx)
}

func (c *command) parse(args []string) error {
	flags := flag.NewFlagSet("graphgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	once(flags, "type", &c.types)
	once(flags, "o", &c.output)
	flags.BoolVar(&c.check, "check", false, "")
	flags.BoolVar(&c.verbose, "v", false, "")
	flags.BoolVar(&c.version, "version", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.patterns = flags.Args()
	for _, pattern := range c.patterns {
		if strings.HasPrefix(pattern, "-") {
			return fmt.Errorf("flag %s stands after the packages; flags go first", pattern)
		}
	}
	return nil
}

// once adds a flag that has a value and is given at most once.
func once(flags *flag.FlagSet, name string, value *string) {
	flags.Func(name, "", func(text string) error {
		switch {
		case text == "":
			return errors.New("it needs a value")
		case *value != "":
			return errors.New("it is given twice")
		}
		*value = text
		return nil
	})
}

// generate generates and writes, or compares.
func (c *command) generate(ctx context.Context) int {
	cfg := gen.Config{Patterns: c.patterns, Output: c.output}
	if c.types != "" {
		cfg.Types = strings.Split(c.types, ",")
	}
	result, err := gen.Generate(ctx, cfg)
	if err != nil {
		return c.fail(err)
	}
	for _, d := range result.Diagnostics {
		line := d.String()
		if !d.Pos.IsValid() && d.Pos.Filename == "" {
			line = "graphgen: " + line // it is about no place in a file: say who says so
		}
		c.print(c.stderr, line+"\n")
	}
	if len(result.Diagnostics) > 0 {
		return exitFailed
	}
	if c.check {
		return c.compare(result)
	}
	return c.write(result)
}

// compare prints what write would change.
func (c *command) compare(result *gen.Result) int {
	dir, err := os.Getwd()
	if err != nil {
		return c.fail(err)
	}
	status := exitOK
	for _, file := range result.Files {
		diff, err := file.Diff(dir)
		if err != nil {
			return c.fail(err)
		}
		if len(diff) > 0 {
			c.print(c.stdout, string(diff))
			status = exitDiffers
		}
	}
	return status
}

// write writes the files that are not as they should be.
func (c *command) write(result *gen.Result) int {
	for _, file := range result.Files {
		changed, err := file.Write()
		if err != nil {
			return c.fail(err)
		}
		switch {
		case file.Orphan:
			c.print(c.stderr, fmt.Sprintf("graphgen: %s: no type asks for this file any more; delete it\n", file.Path))
		case changed:
			c.print(c.stderr, fmt.Sprintf("graphgen: wrote %s%s\n", file.Path, contents(file)))
		case c.verbose:
			c.print(c.stderr, fmt.Sprintf("graphgen: %s is as it should be\n", file.Path))
		}
	}
	return exitOK
}

// contents says what a file is about.
func contents(file gen.File) string {
	var b strings.Builder
	for _, part := range []struct {
		what  string
		names []string
		gets  string
	}{
		{"state", file.States, "update type, schema"},
		{"payload", file.Payloads, "AppendWire, DecodeWire"},
	} {
		if len(part.names) > 0 {
			fmt.Fprintf(&b, "; %s %s (%s)", part.what, strings.Join(part.names, ", "), part.gets)
		}
	}
	return strings.Replace(b.String(), ";", ":", 1)
}

func (c *command) fail(err error) int {
	c.print(c.stderr, fmt.Sprintf("graphgen: %s\n", strings.TrimPrefix(err.Error(), "gen: ")))
	return exitFailed
}

// print writes text. That nobody can read it any more is no reason to do something else.
func (c *command) print(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

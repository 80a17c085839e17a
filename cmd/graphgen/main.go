// Graphgen generates the code that a typed graph needs. For a struct with graph tags it generates
// the type of updates, merging, copying, comparing and the codec.
//
// Usage:
//
//	go tool graphgen [flags] [packages]
//	go tool graphgen lock [-accept[=names]] [-type State,Doc] [packages]
//	go tool graphgen vet [flags] [packages]
//
// Packages are named as for the go command. The default is the package in the current directory.
// With -type, graphgen generates code for the named types of one package. Without -type, it
// generates code for all types in all packages that request it. A type requests code by a comment
// //graphgen:state or //graphgen:payload above the type, or by a //go:generate line that runs
// graphgen. The usual way is such a line above the state
//
//	//go:generate go tool graphgen -type=State
//
// and the command go generate. The file is written to the folder of the source. It has the name of
// the first type, such as state_graphgen.go for State. If several types carry //graphgen:state, it
// has the name of the package.
//
// The file is part of the same builds as the source. It has the name state_linux_graphgen.go for a
// state in state_linux.go, and state_graphgen_test.go for a state in a test file. Graphgen prints
// the files that it wrote. It overwrites only files that it has generated.
//
// Flags:
//
//	-type State,Doc  the types to generate for; the first is a state, a later one is a state when a field of it names a
//	                 reducer, and a payload (AppendWire and DecodeWire) otherwise; //graphgen:state and //graphgen:payload
//	                 above a type decide instead; of an interface that is a union the codec is exported
//	-o file          the file to write, in the folder of the package; without -type, for the types that carry
//	                 //graphgen:state or //graphgen:payload
//	-check           write nothing; print what would change as a diff
//	-v               also print the files that are up to date
//	-version         print the version
//	-h               print this
//
// Graphgen vet finds faults in nodes and routes. It runs go vet with the analyzers of graphgen and
// takes the flags of go vet. With -fix it applies the fixes that are safe. Graphgen vet help lists
// the analyzers. Graphgen can also be the tool of go vet:
//
//	go vet -vettool=$(which graphgen) ./...
//
// The reducer in a field's tag defines how updates are merged:
//
//	Status   string            // replace: two parallel writers in one superstep are an error
//	Picked   string            `graph:"last"`           // replace; the last in task order wins
//	Owner    string            `graph:"first"`          // write once
//	Log      []string          `graph:"append"`
//	Messages []Message         `graph:"upsert,key=ID"`  // replace the element with the same ID, else append; or a method: key=ID
//	Tags     []string          `graph:"union"`          // append elements that are new
//	Facts    map[string]Fact   `graph:"merge"`
//	Tokens   int64             `graph:"sum"`            // also min, max; and, or for bools
//	Plan     *Plan             `graph:"reduce=edit"`    // func edit(old *Plan, in PlanEdit) *Plan
//	Draft    string            `graph:"ephemeral"`      // visible in the next superstep only
//	Page     vendor.Page       `graph:"json"`           // by its MarshalJSON and UnmarshalJSON; or text
//	Steps    []string          `graph:"append,run"`     // with any reducer: cleared by the next input
//	Cache    *Cache            `graph:"untracked"`      // in memory for the run, never stored
//	History  []Message         `graph:"append,name=hist,was=old_hist"` // name in stored data, and former names
//
// The fields of an embedded struct whose tags name reducers are fields of the state.
//
// In structs within a state, name=, was= and "-" (not stored) have the same meaning. The members
// of an interface are listed once, in the package of the state or of the interface:
//
//	//graphgen:union Message = *User | *Assistant | *Tool
//
// The command lock begins a file graphgen.lock in each package, which lists the names and types
// that threads may store. With that file, graphgen refuses a change that stored threads could not
// survive, and records all others. If the file exists, lock prints the changes with verdicts. With
// -accept it records all of them, also the refused ones. The exit status is then 0. With
// -accept=State.Note,refund it does so only if all refused changes begin with one of these names.
// Without -accept, the exit status is 1 if something has changed, and 2 if a change is refused.
//
// Graphgen prints all faults in the sources, one a line, as file:line:column: State.Field: what is
// wrong; how to fix it. It then writes no files. The exit status is 0 on success, 1 if -check
// found a difference, and 2 if graphgen failed.
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

// Exit statuses.
const (
	exitOK = iota
	exitDiffers
	exitFailed
)

func main() {
	args := os.Args[1:]
	if isVetTool(args) {
		vetTool()
	}
	os.Exit(run(args, os.Stdout, os.Stderr))
}

// command is the parsed command line.
type command struct {
	types, output           string
	check, verbose, version bool
	lock                    bool
	accept                  acceptance
	patterns                []string
	stdout, stderr          io.Writer
}

// run runs the command with args, which do not include the program name, and returns the exit
// status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "vet" {
		return runVet(args[1:], stdout, stderr)
	}
	c := command{stdout: stdout, stderr: stderr}
	if err := c.parse(args); errors.Is(err, flag.ErrHelp) {
		c.print(stdout, manual)
		return exitOK
	} else if err != nil {
		c.print(stderr, fmt.Sprintf("graphgen: %v; run graphgen -h for help\n", err))
		return exitFailed
	}
	if c.version {
		c.print(stdout, "graphgen "+gen.Version+" "+runtime.Version()+"\n")
		return exitOK
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if c.lock {
		return c.compareLocks(ctx)
	}
	return c.generate(ctx)
}

func (c *command) parse(args []string) error {
	flags := flag.NewFlagSet("graphgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	once(flags, "type", &c.types)
	if len(args) > 0 && args[0] == "lock" {
		c.lock, args = true, args[1:]
		flags.Var(&c.accept, "accept", "")
	} else {
		once(flags, "o", &c.output)
		flags.BoolVar(&c.check, "check", false, "")
		flags.BoolVar(&c.verbose, "v", false, "")
		flags.BoolVar(&c.version, "version", false, "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.patterns = flags.Args()
	for _, pattern := range c.patterns {
		if strings.HasPrefix(pattern, "-") {
			return fmt.Errorf("flag %s follows the packages; flags must come first", pattern)
		}
	}
	return nil
}

// once adds a flag with a value that may be given only once.
func once(flags *flag.FlagSet, name string, value *string) {
	flags.Func(name, "", func(text string) error {
		switch {
		case text == "":
			return errors.New("the flag needs a value")
		case *value != "":
			return errors.New("the flag is given twice; give it once")
		}
		*value = text
		return nil
	})
}

// config returns the configuration that the flags ask for.
func (c *command) config() gen.Config {
	cfg := gen.Config{Patterns: c.patterns, Output: c.output}
	if c.types != "" {
		cfg.Types = strings.Split(c.types, ",")
	}
	return cfg
}

// generate generates code, and writes or compares it.
func (c *command) generate(ctx context.Context) int {
	result, err := gen.Generate(ctx, c.config())
	switch {
	case err != nil:
		return c.fail(err)
	case c.report(result):
		return exitFailed
	case c.check:
		return c.compare(result)
	}
	c.note(result)
	return c.write(result)
}

// report prints the faults in the sources, and reports whether there are any.
func (c *command) report(result *gen.Result) bool {
	for _, d := range result.Diagnostics {
		line := d.String()
		if !d.Pos.IsValid() && d.Pos.Filename == "" {
			line = "graphgen: " + line // without a position, the line must name the program
		}
		c.print(c.stderr, line+"\n")
	}
	return len(result.Diagnostics) > 0
}

// compare prints the changes that write would make.
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

// write writes the files that are not up to date.
func (c *command) write(result *gen.Result) int {
	for _, file := range result.Files {
		changed, err := file.Write()
		if err != nil {
			return c.fail(err)
		}
		switch {
		case file.Orphan:
			c.print(c.stderr, fmt.Sprintf("graphgen: %s: no type requests this file any more; delete it\n", file.Path))
		case changed:
			c.print(c.stderr, fmt.Sprintf("graphgen: wrote %s%s\n", file.Path, contents(file)))
		case c.verbose:
			c.print(c.stderr, fmt.Sprintf("graphgen: %s is up to date\n", file.Path))
		}
	}
	return exitOK
}

// contents describes the contents of a file.
func contents(file gen.File) string {
	var b strings.Builder
	for _, part := range []struct {
		what  string
		names []string
		gets  string
	}{
		{"state", file.States, "update type, schema"},
		{"payload", file.Payloads, "AppendWire, DecodeWire"},
		{"union", file.Unions, "exported codec"},
	} {
		if len(part.names) > 0 {
			what := part.what
			if len(part.names) > 1 {
				what += "s"
			}
			fmt.Fprintf(&b, "; %s %s (%s)", what, strings.Join(part.names, ", "), part.gets)
		}
	}
	return strings.Replace(b.String(), ";", ":", 1)
}

func (c *command) fail(err error) int {
	c.print(c.stderr, fmt.Sprintf("graphgen: %s\n", strings.TrimPrefix(err.Error(), "gen: ")))
	return exitFailed
}

// print writes text. It ignores errors, because the command must finish even if nobody reads its
// output.
func (c *command) print(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

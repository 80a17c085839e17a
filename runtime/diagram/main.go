package diagram

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Main is the main function of a program that writes pictures of a graph, for go generate. Its
// arguments are the results of the function that compiles the graph:
//
//	func main() { diagram.Main(shop.New(memory.New())) }
//
// The command line of the program names the files to write. The ending of a name selects the
// format: .svg, .mmd for Mermaid, .dot, or .puml. In a .md file, Main replaces the first Mermaid
// block after the line "<!-- picture -->". The flags -expand, -details and -across are the options
// [Expand], [Details] and [LeftToRight].
//
// If err is not nil, or a file cannot be written, Main prints the error and ends the process with
// status 1. The status is 2 if the command line is wrong.
func Main(app interface{ Describe() *graph.Description }, err error) {
	if status := run(app, err, os.Args[1:], os.Stderr); status != 0 {
		os.Exit(status) //nolint:forbidigo // Main is the main function of a program
	}
}

func run(app interface{ Describe() *graph.Description }, err error, args []string, log io.Writer) int {
	flags := flag.NewFlagSet("picture", flag.ContinueOnError)
	flags.SetOutput(log)
	expand := flags.Bool("expand", false, "draw the nodes of subgraphs")
	details := flags.Bool("details", false, "draw also the nodes with the option graph.Detail")
	across := flags.Bool("across", false, "draw from left to right")
	if flags.Parse(args) != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(log, "diagram: name the files to write, such as graph.svg")
		return 2
	}
	opts := []Option{func(o *options) { o.expand, o.details, o.across = *expand, *details, *across }}
	for _, path := range flags.Args() {
		if err == nil {
			err = write(path, app.Describe(), opts)
		}
	}
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	return 0
}

// write writes a picture to a file.
func write(path string, d *graph.Description, opts []Option) (err error) {
	var picture []byte
	switch filepath.Ext(path) {
	case ".svg":
		picture = SVG(d, opts...)
	case ".mmd":
		picture = []byte(Mermaid(d, opts...))
	case ".dot":
		picture = []byte(DOT(d, opts...))
	case ".puml":
		picture = []byte(PlantUML(d, opts...))
	case ".md":
		picture, err = inMarkdown(path, Mermaid(d, opts...))
	default:
		err = errors.New("the ending is no format; want .svg, .mmd, .dot, .puml or .md")
	}
	if err == nil {
		err = os.WriteFile(path, picture, 0o644) // #nosec G306 -- a picture is for everybody
	}
	if err != nil {
		return fmt.Errorf("diagram: the picture in %s: %w", path, err)
	}
	return nil
}

// block is a Mermaid block after a mark.
var block = regexp.MustCompile("(?s)(<!-- picture -->\r?\n```mermaid\r?\n).*?(```)")

// inMarkdown returns a Markdown file with another picture.
func inMarkdown(path, picture string) ([]byte, error) {
	page, err := os.ReadFile(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, err
	}
	at := block.FindSubmatchIndex(page)
	if at == nil {
		return nil, errors.New(`the file has no picture; put "<!-- picture -->" in a line before a Mermaid block`)
	}
	return bytes.Join([][]byte{page[:at[3]], []byte(picture), page[at[4]:]}, nil), nil
}

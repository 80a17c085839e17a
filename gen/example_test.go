package gen_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"strings"

	"github.com/graphgen-go/graphgen/gen"
)

// The lock file of a package, with the questions in it.
func ExampleLock() {
	res, err := gen.Lock(context.Background(), gen.Config{Dir: "../examples/approval"})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range res.Changes {
		fmt.Println(c.Verdict == gen.Refused, c) // a change since the file was written
	}
	for _, f := range res.Files {
		fmt.Println(filepath.Base(f.Path))
		for line := range strings.Lines(string(f.Content)) {
			if strings.HasPrefix(line, "question") {
				fmt.Print(line)
			}
		}
	}
	// Output:
	// graphgen.lock
	// question approve Purchase Vote
}

// The files that graphgen would write for a package.
func ExampleGenerate() {
	res, err := gen.Generate(context.Background(), gen.Config{Dir: "../docs/example", Types: []string{"State"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range res.Diagnostics {
		fmt.Println(d) // a fault in the sources, with its position
	}
	for _, f := range res.Files {
		fmt.Println(filepath.Base(f.Path), f.States, f.Payloads)
	}
	// Output: state_graphgen.go [State] []
}

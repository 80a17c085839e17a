package gen_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/graphgen-go/graphgen/gen"
)

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

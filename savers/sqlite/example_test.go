package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// A saver on a file, as it would be given to graph.Saver.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an example

	saver, err := sqlite.Open(filepath.Join(dir, "threads.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer saver.Close()

	chain, err := saver.Load(context.Background(), checkpoint.Ref{Thread: "ticket-17"})
	fmt.Println(chain.Empty(), err)
	// Output: true <nil>
}

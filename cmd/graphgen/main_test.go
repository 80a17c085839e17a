package main

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"graphgen": main})
}

// TestScripts runs the command as a user types it, in modules of their own that use this one.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "HOME"} {
				if value, ok := os.LookupEnv(name); ok {
					env.Setenv(name, value)
				}
			}
			env.Setenv("GRAPHGEN", root)
			sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "go.sum"), sum, 0o644)
		},
	})
}

// TestManualIsThePackageDocumentation keeps what -h prints and what go doc prints the same.
func TestManualIsThePackageDocumentation(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var p comment.Parser
	printer := comment.Printer{TextWidth: 100, TextCodePrefix: "\t"}
	want := string(printer.Text(p.Parse(file.Doc.Text())))
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile("manual.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		manual = want
	}
	if manual != want {
		t.Errorf("manual.txt is not the text of the package documentation; run the tests with UPDATE_SCRIPTS=1\ngot:\n%s\nwant:\n%s", manual, want)
	}
}

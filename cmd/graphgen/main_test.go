package main

import (
	"errors"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"graphgen": main})
}

// TestScripts runs the command as a user does, in new modules that use this module.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status},
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "HOME"} {
				if value, ok := os.LookupEnv(name); ok {
					env.Setenv(name, value)
				}
			}
			self, err := exec.LookPath("graphgen") // testscript puts it into the path
			if err != nil {
				return err
			}
			env.Setenv("GRAPHGEN", self)
			return writeModule(root, env.WorkDir)
		},
	})
}

// status runs a command. It fails unless the exit status is the first argument.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v exits with %d (%v), want %d", args[1:], got, err, want)
	}
}

// writeModule creates in dir a module that uses the module in root and the same versions of all
// other modules.
func writeModule(root, dir string) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	const path = "github.com/graphgen-go/graphgen"
	text := strings.Replace(string(mod), "module "+path, "module example.com/m", 1)
	if !strings.Contains(text, "\ntool ") {
		text += "\ntool " + path + "/cmd/graphgen\n"
	}
	text += "\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + root + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644),
	)
}

// TestManualIsThePackageDocumentation compares the output of -h with the output of go doc.
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

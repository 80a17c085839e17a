package main

import (
	_ "embed"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

//go:embed testdata/verdicts.txt
var verdictsTXT []byte

// TestMain makes the test binary act as the command, so that the scripts and the kill test can
// start it as a process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"triage": main})
}

func TestCommandsAsTyped(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

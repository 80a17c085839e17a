package main

import (
	_ "embed"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

//go:embed testdata/verdicts.txt
var verdictsTXT []byte

// TestMain lets the test binary be the command, so that the scripts and the kill test run it as processes of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"triage": main})
}

func TestCommandsAsTyped(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

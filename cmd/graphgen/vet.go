package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/graphgen-go/graphgen/gen/vet"
)

// isVetTool reports whether go vet -vettool runs this program: it asks for the version or the
// flags, or passes the description of a package.
func isVetTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(last, ".cfg")
}

// vetTool answers go vet, or prints help, and ends the process.
func vetTool() {
	if len(os.Args) > 1 && os.Args[1] == "vet" {
		os.Args = append([]string{os.Args[0] + " vet"}, os.Args[2:]...)
	}
	unitchecker.Main(vet.Analyzers()...)
}

// runVet runs go vet with this program as its tool, and returns the exit status of go vet. args
// are flags of go vet and packages, or help and perhaps the name of an analyzer.
func runVet(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "help" {
		vetTool()
	}
	self, err := os.Executable()
	if err != nil {
		return vetFailed(stderr, err)
	}
	// go vet keeps the output of an earlier run, which names files by their full path. With
	// -trimpath the key of that output has no path. A copy of the package in another directory
	// would get the names of the first one. -fix would then change the wrong file.
	cmd := exec.Command("go", append([]string{"vet", "-trimpath=false", "-vettool=" + self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return vetFailed(stderr, err)
	}
	return exitOK
}

func vetFailed(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintf(stderr, "graphgen: vet: %v\n", err)
	return exitFailed
}

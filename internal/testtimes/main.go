// Command testtimes runs go test and prints where the time went. For each package and each test it
// prints the seconds of processor time, and the seconds of waiting. The arguments are those of go
// test.
//
//	go run ./internal/testtimes -short ./...
//
// Processor time includes the processes that a test started, such as servers. It is measured for
// tests that run one after the other; tests with t.Parallel share the time of their package. Only
// Linux tells the time of each test; elsewhere the table has the packages.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tableVariable names the file to which the processes of tests append their rows.
const tableVariable = "GRAPHGEN_TEST_TIMES"

// rows is the largest number of tests that are printed.
const rows = 80

func main() {
	if table := os.Getenv(tableVariable); table != "" && len(os.Args) > 1 {
		os.Exit(measure(table, os.Args[1], os.Args[2:]))
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testtimes:", err)
		os.Exit(1)
	}
}

// row is a package, or a test of it.
type row struct {
	Package, Test string // the folder, and the name; no name stands for the whole package
	CPU, Wall     time.Duration
}

// run runs go test with this command around each test binary, and prints the table.
func run(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testtimes")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	table := filepath.Join(dir, "rows")
	begin := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-v", "-count=1", "-exec", self}, args...)...)
	cmd.Env = append(os.Environ(), tableVariable+"="+table)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	printOutcomes(out)
	failed := cmd.Wait()
	if err := printTable(table, time.Since(begin)); err != nil {
		return err
	}
	return failed
}

// printOutcomes copies the lines of go test about packages and failures, without those about each
// test that passes.
func printOutcomes(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "ok") || strings.Contains(line, "FAIL") {
			fmt.Println(line)
		}
	}
}

// printTable prints the rows of a file, the most expensive first.
func printTable(path string, took time.Duration) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	var packages, tests []row
	for decoder := json.NewDecoder(file); ; {
		var r row
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if dir, err := filepath.Rel(here, r.Package); err == nil {
			r.Package = dir
		}
		if r.Test == "" {
			packages = append(packages, r)
		} else {
			tests = append(tests, r)
		}
	}
	for _, list := range [][]row{packages, tests} {
		slices.SortFunc(list, func(a, b row) int { return cmp.Compare(b.CPU, a.CPU) })
		fmt.Printf("\n%8s %8s  %s\n", "cpu s", "waited s", "package, test")
		for _, r := range list[:min(rows, len(list))] {
			fmt.Printf("%8.1f %8.1f  %s %s\n", r.CPU.Seconds(), max(0, r.Wall-r.CPU).Seconds(), r.Package, r.Test)
		}
	}
	var sum time.Duration
	for _, r := range packages {
		sum += r.CPU
	}
	fmt.Printf("\n%.0f s of processor time by tests, %.0f s in all with building\n", sum.Seconds(), took.Seconds())
	return nil
}

// measure runs a test binary, and appends the rows of its tests and its own. It returns the exit
// status.
func measure(table, binary string, args []string) int {
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, tableVariable+"=") })
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtimes:", err)
		return 1
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGQUIT)
	var relay sync.WaitGroup
	relay.Go(func() {
		for s := range interrupts {
			_ = cmd.Process.Signal(s)
		}
	})
	name, _ := os.Getwd()
	begin := time.Now()
	list := watch(out, os.Stdout, name, func() time.Duration { return processorTime(cmd.Process.Pid) })
	err = cmd.Wait()
	signal.Stop(interrupts)
	close(interrupts)
	relay.Wait()
	list = append(list, row{name, "", cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begin)})
	if err := appendRows(table, list); err != nil {
		fmt.Fprintln(os.Stderr, "testtimes:", err)
		return 1
	}
	if err != nil {
		return max(1, cmd.ProcessState.ExitCode())
	}
	return 0
}

// watch copies the output of a test binary, and returns a row for each top-level test in it. The
// lines that begin and end a test mark its time.
func watch(from io.Reader, to io.Writer, name string, cpu func() time.Duration) (list []row) {
	var current string
	var began time.Time
	var before time.Duration
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(to, line)
		fields := strings.Fields(strings.TrimLeft(line, "\x16"))
		switch {
		case len(fields) == 3 && fields[0] == "===" && fields[1] == "RUN" && !strings.Contains(fields[2], "/"):
			current, began, before = fields[2], time.Now(), cpu()
		case len(fields) >= 3 && fields[0] == "---" && fields[2] == current && current != "":
			list = append(list, row{name, current, cpu() - before, time.Since(began)})
			current = ""
		}
		if err != nil {
			return list
		}
	}
}

func appendRows(path string, list []row) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var text []byte
	for _, r := range list {
		line, err := json.Marshal(r)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		text = append(append(text, line...), '\n')
	}
	_, err = file.Write(text) // one write, because other processes append too
	return errors.Join(err, file.Close())
}

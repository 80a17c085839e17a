// Peers runs the same graphs in graphgen and in other frameworks, and prints a table.
//
//	go -C bench run ./peers [-rounds 3]
//
// Each framework has a folder with its own program and its own module, so that no other code needs
// its libraries. Programs in Python, JavaScript and Java run if their interpreters and libraries
// are there: see README.md. A figure is the least of all rounds. The programs take turns. A
// program omits each measurement that its framework cannot make, and says why.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// peer is a framework.
type peer struct {
	name string
	dir  string   // of its program
	run  []string // the program, if it is a script
	java bool     // the program is in Java, with a pom.xml
}

var peers = []peer{
	{name: "graphgen", dir: "peers/graphgen"},
	{name: "dshills/langgraph-go v0.2.0-alpha", dir: "peers/dshills"},
	{name: "cloudwego/eino v0.9.18", dir: "peers/eino"},
	{name: "trpc-agent-go v1.11.2", dir: "peers/trpc"},
	{name: "adk-go v2.2.0", dir: "peers/adk"},
	{name: "LangGraph for Python 1.2.22", dir: "peers/langgraph-py", run: []string{"python3", "main.py"}},
	{name: "LangGraph for JavaScript 1.7.3", dir: "peers/langgraph-js", run: []string{"node", "main.mjs"}},
	{name: "langgraph4j 1.8.17", dir: "peers/langgraph4j", java: true},
	{name: "Spring AI Alibaba Graph 1.1.2.2", dir: "peers/spring-ai-alibaba", java: true},
}

// rows are the columns of the table: names as the programs print them.
var rows = []string{"loop, in memory", "chain", "fan-out", "SQLite, turn 10", "SQLite, turn 1,000"}

func main() {
	rounds := flag.Int("rounds", 3, "how often to run everything")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := compare(ctx, *rounds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compare runs the programs and prints the table.
func compare(ctx context.Context, rounds int) error {
	bin, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	commands := make([][]string, len(peers))
	for i, p := range peers {
		if commands[i], err = build(ctx, p, bin); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
		}
	}
	best := make([]map[string]int, len(peers))
	for range rounds {
		for i, p := range peers {
			if commands[i] == nil {
				continue
			}
			figures, err := run(ctx, p.dir, commands[i])
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
				commands[i] = nil
			}
			best[i] = least(best[i], figures)
		}
	}
	printTable(best)
	return ctx.Err()
}

// build returns the command that runs a peer's program.
func build(ctx context.Context, p peer, bin string) ([]string, error) {
	if p.run != nil {
		_, err := exec.LookPath(p.run[0])
		return p.run, err
	}
	out := filepath.Join(bin, filepath.Base(p.dir))
	if p.java {
		return buildJava(ctx, p, out)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, ".")
	cmd.Dir = p.dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
	}
	return []string{out}, nil
}

// buildJava compiles a program with Maven, which downloads what it needs, into a folder.
func buildJava(ctx context.Context, p peer, out string) ([]string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return nil, err
	}
	list := out + ".classpath"
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "compile", "dependency:build-classpath", "-Dout="+out, "-Dmdep.outputFile="+list)
	cmd.Dir = p.dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(text))
	}
	libraries, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(out, "classes") + string(filepath.ListSeparator) + strings.TrimSpace(string(libraries))
	return []string{"java", "-cp", classes, "Main"}, nil
}

// run runs a program and returns its figures. The program prints one line for each.
func run(ctx context.Context, dir string, command []string) (map[string]int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	figures := make(map[string]int)
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), "\t")
		if ns, bad := strconv.Atoi(text); bad == nil {
			figures[name] = ns
		}
	}
	if stderr.Len() > 0 {
		fmt.Fprintf(os.Stderr, "%s: %s\n", dir, lastLine(stderr.Bytes()))
	}
	return figures, err
}

func lastLine(b []byte) []byte {
	b = bytes.TrimSpace(b)
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

// least returns the lesser of each figure.
func least(best, figures map[string]int) map[string]int {
	if best == nil {
		return figures
	}
	for name, ns := range figures {
		if old, ok := best[name]; !ok || ns < old {
			best[name] = ns
		}
	}
	return best
}

// printTable prints the table, in microseconds: a step of the loop, a node, a branch, a turn.
func printTable(best []map[string]int) {
	fmt.Printf("| µs | %s |\n|---|%s\n", strings.Join(rows, " | "), strings.Repeat("---|", len(rows)))
	for i, p := range peers {
		fmt.Printf("| %s |", p.name)
		for _, row := range rows {
			if ns, ok := best[i][row]; ok {
				fmt.Printf(" %.2f |", float64(ns)/1000)
			} else {
				fmt.Print(" – |")
			}
		}
		fmt.Println()
	}
}

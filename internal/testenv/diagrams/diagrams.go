// Package diagrams checks pictures of graphs with the tools that draw them, for tests.
package diagrams

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed mermaid
var mermaidFiles embed.FS

// Mermaid returns the error of Mermaid for each diagram; empty if it parses. npm installs Mermaid
// into the user's cache. Without Node.js, npm or its registry the test is skipped, but in CI it
// fails. It is skipped under -short, too.
func Mermaid(tb testing.TB, diagrams []string) []string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: installs Mermaid through npm")
	}
	dir, err := installMermaid(tb.Context())
	if err != nil {
		noTool(tb, err)
	}
	in, err := json.Marshal(diagrams)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "node", "parse.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	var errs []string
	if err := json.Unmarshal(out, &errs); err != nil || len(errs) != len(diagrams) {
		tb.Fatalf("parse.mjs printed %s, %v; want an error or null for each of %d diagrams", out, err, len(diagrams))
	}
	return errs
}

// noTool skips a test whose tool is not there. In CI it fails the test.
func noTool(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal(err)
	}
	tb.Skip(err)
}

// installMermaid returns a folder with the script and the packages that it needs. The folder
// appears whole or not at all.
func installMermaid(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash, files := sha256.New(), map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "parse.mjs"} {
		if files[name], err = mermaidFiles.ReadFile("mermaid/" + name); err != nil {
			return "", err
		}
		hash.Write(files[name])
	}
	dir = filepath.Join(cache, "graphgen", "mermaid-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(building, name), content, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	cmd.Dir = building
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	err = os.Rename(building, dir)
	if _, absent := os.Stat(dir); absent == nil {
		return dir, nil // another process can have been faster
	}
	return dir, err
}

// Graphviz returns the output of dot in a format, such as "json". It returns an error if dot finds
// fault with the graph. Without dot the test is skipped, but in CI it fails. It is skipped under
// -short, too.
func Graphviz(tb testing.TB, format, source string) (string, error) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: needs Graphviz")
	}
	if _, err := exec.LookPath("dot"); err != nil {
		noTool(tb, err)
	}
	var out, faults bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), "dot", "-T"+format)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(source), &out, &faults
	err := cmd.Run()
	if faults.Len() > 0 { // also a warning
		err = errors.Join(err, errors.New(strings.TrimSpace(faults.String())))
	}
	return out.String(), err
}

// Mandoc returns the warnings of mandoc about a manual page, without that about the missing date.
// Without mandoc the test is skipped, but in CI it fails. It is skipped under -short, too.
func Mandoc(tb testing.TB, page string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: needs mandoc")
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		noTool(tb, err)
	}
	cmd := exec.CommandContext(tb.Context(), "mandoc", "-T", "lint", "-W", "warning")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput() // the status is that of the warnings
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	var faults strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") {
			faults.WriteString(line)
		}
	}
	return faults.String()
}

// PlantUML returns an error if PlantUML finds fault with one of the diagrams. Without PlantUML the
// test is skipped, but in CI it fails. It is skipped under -short, too.
func PlantUML(tb testing.TB, diagrams ...string) error {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short: needs PlantUML")
	}
	if _, err := exec.LookPath("plantuml"); err != nil {
		noTool(tb, err)
	}
	dir := tb.TempDir()
	args := []string{"-checkonly"}
	for i, d := range diagrams {
		name := fmt.Sprintf("%d.puml", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(d), 0o600); err != nil {
			tb.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.CommandContext(tb.Context(), "plantuml", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("plantuml: %w: %s", err, out)
	}
	return nil
}

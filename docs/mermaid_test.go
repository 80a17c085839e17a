package docs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var diagram = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

// parser installs Mermaid and returns the folder of its script. It needs Node.js, and once the
// registry of npm. Without them the test is skipped, but in CI it fails.
func parser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: installs Mermaid through npm")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	hash, files := sha256.New(), map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "parse.mjs"} {
		files[name] = read(t, filepath.Join("testdata/mermaid", name))
		hash.Write(files[name])
	}
	dir := filepath.Join(cache, "graphgen", "mermaid-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	if err := install(t.Context(), dir, files); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return dir
}

// install makes a folder with the files and the packages that they name. The folder appears whole
// or not at all.
func install(ctx context.Context, dir string, files map[string][]byte) error {
	if _, err := exec.LookPath("node"); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(building) }()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(building, name), content, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	cmd.Dir = building
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	err = os.Rename(building, dir)
	if _, missing := os.Stat(dir); missing == nil {
		return nil // another process can have been faster
	}
	return err
}

// parse returns the error of Mermaid for each diagram; empty if it parses.
func parse(t *testing.T, dir string, diagrams []string) []string {
	t.Helper()
	in, err := json.Marshal(diagrams)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "parse.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var errs []string
	if err := json.Unmarshal(out, &errs); err != nil || len(errs) != len(diagrams) {
		t.Fatalf("parse.mjs printed %s, %v; want an error or null for each of %d diagrams", out, err, len(diagrams))
	}
	return errs
}

func TestDiagramsAreMermaid(t *testing.T) {
	var places, diagrams []string
	for _, name := range pages(t) {
		for _, m := range diagram.FindAllSubmatch(read(t, name), -1) {
			places, diagrams = append(places, name), append(diagrams, string(m[1]))
		}
	}
	if len(diagrams) == 0 {
		t.Fatal("no diagrams found")
	}
	diagrams = append(diagrams, "flowchart LR\n  a -- b c\n", "stateDiagram-v2\n  [*] --> --> a\n", "no diagram\n")
	errs := parse(t, parser(t), diagrams)
	for i, err := range errs {
		switch {
		case i < len(places) && err != "":
			t.Errorf("%s: %s\nin\n%s", places[i], err, diagrams[i])
		case i >= len(places) && err == "":
			t.Errorf("Mermaid parses %q, which is no diagram: the test proves nothing", diagrams[i])
		}
	}
}

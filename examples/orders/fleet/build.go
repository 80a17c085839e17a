package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// service is the package of the order service.
const service = "github.com/graphgen-go/graphgen/examples/orders"

// build builds the newest release of the service, and returns the program.
func build(ctx context.Context, dir string, stderr io.Writer) (programs []string, err error) {
	program := filepath.Join(dir, "orders")
	return []string{program}, goCommand(ctx, "", stderr, "build", "-o", program, service)
}

// buildReleases builds the three releases of the service, the oldest first, and returns the
// programs. It does what the developers did: new sources replace those of the release before, and
// go generate writes the code for them. From the first release on, a lock file makes go generate
// refuse what stored orders could not survive.
func buildReleases(ctx context.Context, dir string, stderr io.Writer) (programs []string, err error) {
	m, err := newModule(ctx, dir, stderr)
	if err != nil {
		return nil, err
	}
	for n := range releases {
		if err := m.write(ctx, n+1); err != nil {
			return nil, err
		}
		program := filepath.Join(dir, fmt.Sprintf("orders%d", n+1))
		if err := goCommand(ctx, m.dir, stderr, "build", "-o", program, "."); err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
}

// releases is the number of releases of the service.
const releases = 3

// module is a module with the sources of a release.
type module struct {
	dir    string
	source string // the folder of the newest release
	stderr io.Writer
}

// newModule makes a module in a folder, with the dependencies of the module of the service.
func newModule(ctx context.Context, dir string, stderr io.Writer) (*module, error) {
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}\n{{.Module.Dir}}", service).Output()
	if err != nil {
		return nil, fmt.Errorf("find the sources of the service: %w", err)
	}
	source, root, _ := strings.Cut(strings.TrimSpace(string(listed)), "\n")
	m := &module{filepath.Join(dir, "module"), source, stderr}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyFile(m.dir, filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	const graphgen = "github.com/graphgen-go/graphgen"
	return m, goCommand(ctx, m.dir, stderr, "mod", "edit", "-module=example.com/orders", "-require="+graphgen+"@v0.0.0", "-replace="+graphgen+"="+root)
}

// write writes the sources of a release, and generates their code. The folder of an old release
// has the files in which it differs from the newest one.
func (m *module) write(ctx context.Context, release int) error {
	if err := copySources(m.dir, m.source); err != nil {
		return err
	}
	if release < releases {
		if err := copySources(m.dir, filepath.Join(m.source, "testdata", fmt.Sprintf("release%d", release))); err != nil {
			return err
		}
	}
	if err := goCommand(ctx, m.dir, m.stderr, "generate", "."); err != nil || release > 1 {
		return err
	}
	return goCommand(ctx, m.dir, m.stderr, "tool", "graphgen", "lock")
}

// copySources copies the Go files in a folder, without tests.
func copySources(dir, from string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if err := copyFile(dir, name); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(dir, name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600)
}

// goCommand runs the go command in a folder.
func goCommand(ctx context.Context, dir string, stderr io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}

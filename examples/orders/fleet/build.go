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
// go generate writes the code for them.
func buildReleases(ctx context.Context, dir string, stderr io.Writer) (programs []string, err error) {
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}\n{{.Module.Dir}}", service).Output()
	if err != nil {
		return nil, fmt.Errorf("find the sources of the service: %w", err)
	}
	source, root, _ := strings.Cut(strings.TrimSpace(string(listed)), "\n")
	module := filepath.Join(dir, "module")
	if err := newModule(ctx, module, root, stderr); err != nil {
		return nil, err
	}
	// The folder of an old release has the files in which it differs from the newest one.
	for n, old := range []string{"release1", "release2", ""} {
		if err := copySources(module, source); err != nil {
			return nil, err
		}
		if old != "" {
			if err := copySources(module, filepath.Join(source, "testdata", old)); err != nil {
				return nil, err
			}
		}
		if err := goCommand(ctx, module, stderr, "generate", "."); err != nil {
			return nil, err
		}
		program := filepath.Join(dir, fmt.Sprintf("orders%d", n+1))
		if err := goCommand(ctx, module, stderr, "build", "-o", program, "."); err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
}

// newModule makes a folder a module with the dependencies of the module in root, which it uses.
func newModule(ctx context.Context, dir, root string, stderr io.Writer) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := copyFile(dir, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	const graphgen = "github.com/graphgen-go/graphgen"
	return goCommand(ctx, dir, stderr, "mod", "edit", "-module=example.com/orders", "-require="+graphgen+"@v0.0.0", "-replace="+graphgen+"="+root)
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

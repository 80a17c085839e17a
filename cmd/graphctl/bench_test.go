package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// BenchmarkMove measures commands on 200 threads in a folder, in bytes of payloads a second. plain
// is a copy of the files of the folder with an fsync of each, for comparison.
func BenchmarkMove(b *testing.B) {
	dir := b.TempDir()
	from := filepath.Join(dir, "from")
	payload := fillFolder(b, from)
	archive := filepath.Join(dir, "all.graphgen")
	command(b, "export", archive, "--all", "-s", "file://"+from)
	for _, c := range []struct {
		name string
		f    func(b *testing.B, to string)
	}{
		{"plain", func(b *testing.B, to string) { b.Helper(); copyFolder(b, from, to) }},
		{"copy-to-file", func(b *testing.B, to string) {
			b.Helper()
			command(b, "copy", "--all", "-s", "file://"+from, "--to", "file://"+to)
		}},
		{"copy-to-sqlite", func(b *testing.B, to string) {
			b.Helper()
			command(b, "copy", "--all", "-s", "file://"+from, "--to", "sqlite://"+to+".db")
		}},
		{"export", func(b *testing.B, to string) {
			b.Helper()
			command(b, "export", to, "--all", "-s", "file://"+from)
		}},
		{"import-to-file", func(b *testing.B, to string) {
			b.Helper()
			command(b, "import", archive, "-s", "file://"+to)
		}},
		{"verify-file", func(b *testing.B, _ string) {
			b.Helper()
			command(b, "verify", "-s", "file://"+from)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(payload)
			for i := 0; b.Loop(); i++ {
				c.f(b, filepath.Join(dir, fmt.Sprintf("%s-%d-%d", c.name, b.N, i)))
			}
		})
	}
}

// fillFolder runs the graph of package desk on 200 threads, with 8 KB in each of 10 inputs. It
// returns the number of bytes of all payloads.
func fillFolder(b *testing.B, dir string) int64 {
	b.Helper()
	err := onDesk("file://"+dir, "/", func(s checkpoint.Saver) error {
		g, err := desk.New(s)
		if err != nil {
			return err
		}
		for n := range 200 {
			for range 10 {
				var in desk.StateUpdate
				in.Order.Set(strings.Repeat(strconv.Itoa(n%10), 8<<10))
				if _, err := g.Thread(fmt.Sprintf("order-%d", n)).Invoke(context.Background(), in); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	var sum progress
	err = onDesk("file://"+dir, "/", func(s checkpoint.Saver) error {
		for t, err := range s.Threads(context.Background(), checkpoint.ThreadQuery{}) {
			if err != nil {
				return err
			}
			for _, err := range sum.Items(s.Export(context.Background(), t.ID, 0)) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum.Bytes
}

// command runs graphctl in this process.
func command(b *testing.B, args ...string) {
	b.Helper()
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out, env: func(string) string { return "" }, now: time.Now, since: time.Since}
	if code := run(context.Background(), a, args); code != exitOK {
		b.Fatalf("graphctl %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
}

// copyFolder copies the files of a folder.
func copyFolder(b *testing.B, from, to string) {
	b.Helper()
	if err := os.Mkdir(to, 0o700); err != nil {
		b.Fatal(err)
	}
	files, err := os.ReadDir(from)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		if err := copyFile(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			b.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

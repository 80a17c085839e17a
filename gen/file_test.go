package gen_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/gen"
)

func TestWriteReplacesOnlyWhatDiffers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state_graphgen.go")
	file := gen.File{Path: path, Content: []byte("package m\n")}
	if changed, err := file.Write(); err != nil || !changed {
		t.Fatalf("Write of a new file = %v, %v; want true", changed, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o644 {
		t.Errorf("mode = %v, want -rw-r--r--", got)
	}
	past := time.Unix(1e9, 0)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if changed, err := file.Write(); err != nil || changed {
		t.Errorf("Write of the same content = %v, %v; want false", changed, err)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("Write of the same content touched the file: %v, %v", info.ModTime(), err)
	}
	file.Content = []byte("package n\n")
	if changed, err := file.Write(); err != nil || !changed {
		t.Errorf("Write of other content = %v, %v; want true", changed, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left beside it (%v), want none", len(entries)-1, err)
	}
}

func TestWriteFailsWhereItMayNotWrite(t *testing.T) {
	file := gen.File{Path: filepath.Join(t.TempDir(), "missing", "state_graphgen.go"), Content: []byte("package m\n")}
	if _, err := file.Write(); err == nil || !strings.HasPrefix(err.Error(), "gen: write ") {
		t.Errorf("Write into a folder that is not there: %v, want an error that says what could not be written", err)
	}
}

func TestOrphanIsLeftToItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old_graphgen.go")
	if err := os.WriteFile(path, []byte("package m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := gen.File{Path: path, Orphan: true}
	if changed, err := file.Write(); err != nil || changed {
		t.Errorf("Write of an orphan = %v, %v; want false", changed, err)
	}
	diff, err := file.Diff(filepath.Dir(path))
	if err != nil || !strings.Contains(string(diff), "+++ /dev/null") {
		t.Errorf("Diff of an orphan = %q, %v; want one that deletes it", diff, err)
	}
}

func TestGenerateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := gen.Generate(ctx, gen.Config{Dir: filepath.Join(goldenDir, "keys")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Generate with a cancelled context: %v, want context.Canceled", err)
	}
}

func TestGenerateMayRunConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for _, name := range []string{"keys", "migrate", "keys", "empty"} {
		wg.Go(func() {
			if _, err := gen.Generate(t.Context(), gen.Config{Dir: filepath.Join(goldenDir, name)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
}

func TestWrongConfigIsAnError(t *testing.T) {
	dir := filepath.Join(goldenDir, "keys")
	for name, c := range map[string]struct {
		cfg  gen.Config
		want string
	}{
		"a type that is no name":       {gen.Config{Dir: dir, Types: []string{"a.B"}}, `type "a.B": not a Go name`},
		"an empty type":                {gen.Config{Dir: dir, Types: []string{""}}, `type "": not a Go name`},
		"a type twice":                 {gen.Config{Dir: dir, Types: []string{"State", "State"}}, "type State is named twice"},
		"an output without types":      {gen.Config{Dir: dir, Output: "x.go"}, "say for which types"},
		"types of several packages":    {gen.Config{Dir: goldenDir, Patterns: []string{"./keys", "./empty"}, Types: []string{"State"}}, "belong to one package"},
		"a folder without Go":          {gen.Config{Dir: goldenDir}, "no Go files"},
		"a package that asks nothing":  {gen.Config{Dir: filepath.Join(goldenDir, "goldentest")}, "no package asks for generated code"},
		"a pattern of no packages":     {gen.Config{Dir: dir, Patterns: []string{"./nowhere/..."}}, "nowhere"},
		"a folder that does not exist": {gen.Config{Dir: filepath.Join(goldenDir, "nowhere")}, "nowhere"},
	} {
		result, err := gen.Generate(t.Context(), c.cfg)
		switch {
		case err == nil && len(result.Diagnostics) > 0:
			if got := result.Diagnostics[0].String(); !strings.Contains(got, c.want) {
				t.Errorf("%s: diagnostic %q, want one with %q", name, got, c.want)
			}
		case err == nil:
			t.Errorf("%s: no error, want one with %q", name, c.want)
		case !strings.HasPrefix(err.Error(), "gen: ") || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: error %q, want one of gen: with %q", name, err, c.want)
		}
	}
}

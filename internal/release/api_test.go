//go:build unix

// Package release tests the scripts that prepare a release.
package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a small module in a repository of its own.
type repository struct {
	t   *testing.T
	dir string
}

// newRepository returns a repository with a stable package, an experimental one and a changelog.
func newRepository(t *testing.T) *repository {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: loads packages by the go command")
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.email", "test@example.com")
	r.git("config", "user.name", "test")
	r.commit(map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.26\n",
		"RELEASING.md": "# Releasing\n\n## Stable and experimental\n\n| a | `box`, `box/part`, `cmd/box` |\n\n## Other\n\n`trial`\n",
		"CHANGELOG.md": "# Changelog\n\n## 0.1.0 - 2027-01-01\n\nThe first version.\n",
		"box/box.go": `package box

// Box holds a thing.
type Box struct{ Size int }

// Open opens b.
func (b *Box) Open() error { return nil }

// New returns a Box.
func New(size int) *Box { return &Box{size} }
`,
		"testdata/upgrade/v0.1.0/thread": "stored",
		"box/part/part.go":               "package part\n\n// Max is the greatest number of parts.\nconst Max = 3\n",
		"cmd/box/main.go":                "package main\n\nfunc main() {}\n",
		"trial/trial.go":                 "package trial\n\n// Try tries.\nfunc Try() {}\n",
	})
	return r
}

// git runs git in the repository.
func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// commit writes files and commits them. An empty content removes the file.
func (r *repository) commit(files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		path := filepath.Join(r.dir, name)
		if content == "" {
			if err := os.RemoveAll(path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "change")
}

// checkAPI runs the script, and returns whether it passed.
func (r *repository) checkAPI() (text string, passed bool) {
	r.t.Helper()
	script, err := filepath.Abs("../../.ci/check-api")
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := exec.CommandContext(r.t.Context(), script, r.dir).CombinedOutput()
	r.t.Logf("%s", out)
	return string(out), err == nil
}

// next is a changelog of an unreleased version above the released one.
func next(version, text string) string {
	return "# Changelog\n\n## " + version + " - unreleased\n\n" + text + "\n\n## 0.1.0 - 2027-01-01\n\nNew, Box.Open, part and Max.\n"
}

func TestCheckAPISaysThatThereIsNoRelease(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	if text, passed := r.checkAPI(); !passed || !strings.Contains(text, "no release has a tag yet") {
		t.Errorf("got %q, passed %v; want a pass that says that there is no tag", text, passed)
	}
	shallow := &repository{t, filepath.Join(t.TempDir(), "shallow")}
	r.commit(nil)
	r.git("clone", "-q", "--depth", "1", "file://"+r.dir, shallow.dir)
	if text, passed := shallow.checkAPI(); passed || !strings.Contains(text, "git fetch --unshallow --tags") {
		t.Errorf("a shallow clone: got %q, passed %v; want a failure with a remedy", text, passed)
	}
}

// TestCheckAPIReportsBreaks changes the module after its release.
func TestCheckAPIReportsBreaks(t *testing.T) {
	t.Parallel()
	const grown = "package box\n\n// Box holds a thing.\ntype Box struct{ Size, Weight int }\n\n// Open opens b.\n" +
		"func (b *Box) Open() error { return nil }\n\n// New returns a Box.\nfunc New(size int) *Box { return &Box{Size: size} }\n"
	broken := strings.NewReplacer("New(size int)", "New(size int64)", "Size: size", "Size: int(size)", "Open() error", "Open(key int) error").Replace(grown)
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // parts of the text
		pass  bool
	}{
		"nothing": {pass: true, want: []string{"compared 3 packages with v0.1.0"}},
		"an addition": {
			files: map[string]string{"box/box.go": grown, "CHANGELOG.md": next("0.1.1", "")}, pass: true,
		},
		"an experimental package": {
			files: map[string]string{"trial/trial.go": "package trial\n", "CHANGELOG.md": next("0.1.1", "")}, pass: true,
		},
		"a break in a patch": {
			files: map[string]string{"box/box.go": broken, "CHANGELOG.md": next("0.1.1", "New and Box.Open have changed.")},
			want:  []string{"box breaks programs of v0.1.0 (- New: changed from func(int) *Box to func(int64) *Box)", "version 0.1.1 must not", "(*Box).Open: changed"},
		},
		"a break that the changelog leaves out": {
			files: map[string]string{"box/box.go": broken, "CHANGELOG.md": next("0.2.0", "Box.Open takes a key.")},
			want:  []string{"say in the section 0.2.0 of CHANGELOG.md how to convert uses of New"},
		},
		"a break that the changelog has": {
			files: map[string]string{"box/box.go": broken, "CHANGELOG.md": next("0.2.0", "Box.Open takes a key. New takes an int64.")},
			want:  []string{"as CHANGELOG.md says: - New: "}, pass: true,
		},
		"a fixture that has changed": {
			files: map[string]string{"testdata/upgrade/v0.1.0/thread": "stored again"},
			want:  []string{"testdata/upgrade/v0.1.0 differs from the one of the release"},
		},
		"a package that is gone": {
			files: map[string]string{"box/part": "", "CHANGELOG.md": next("0.2.0", "Smaller.")},
			want:  []string{"box/part: removed"},
		},
		"a package that is not stable any more": {
			files: map[string]string{
				"box/part/part.go": "package part\n", "CHANGELOG.md": next("0.2.0", "Smaller."),
				"RELEASING.md": "# Releasing\n\n## Stable and experimental\n\n| a | `box` |\n",
			},
			want: []string{"uses of Max"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.git("tag", "v0.1.0")
			r.git("tag", "box/v9.0.0") // a nested module's
			r.commit(c.files)
			r.git("tag", "v0.9.0") // the release in progress
			text, passed := r.checkAPI()
			if passed != c.pass {
				t.Errorf("passed %v, want %v", passed, c.pass)
			}
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("got %q, want %q in it", text, part)
				}
			}
		})
	}
}

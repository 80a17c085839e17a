//go:build unix

package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// published is the version under which the tests publish the module to a local proxy.
const published = "v0.1.0"

// reader is a shell of somebody who has only Go, in a module cache of their own. The module comes
// from a local proxy, as if it were published. All other modules come from the cache of the tests
// or from where the tests get them.
type reader struct {
	t          *testing.T
	dir, proxy string
	env        []string
}

// newReader publishes the work tree and returns a reader in an empty folder.
func newReader(t *testing.T) *reader {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: compiles the command and all that it needs, in a module cache of its own")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	proxy, cache := t.TempDir(), t.TempDir()
	if err := publish(root, proxy); err != nil {
		t.Fatal(err)
	}
	known := func(name string) string {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	local := "file://" + proxy + ",file://" + filepath.Join(known("GOMODCACHE"), "cache", "download") + ","
	return &reader{t: t, dir: t.TempDir(), proxy: proxy, env: append(os.Environ(),
		"GOPROXY="+local+known("GOPROXY"), "GOMODCACHE="+cache, "GONOSUMDB=github.com/graphgen-go/*",
		"GOWORK=off", "GOFLAGS=-trimpath -modcacherw")}
}

// publish writes the files of a module proxy with the work tree as the only version.
func publish(root, proxy string) error {
	const path = "github.com/graphgen-go/graphgen"
	dir := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	packed, err := os.Create(filepath.Join(dir, published+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		zip.CreateFromDir(packed, module.Version{Path: path, Version: published}, root),
		packed.Close(),
		os.WriteFile(filepath.Join(dir, published+".mod"), mod, 0o600),
		os.WriteFile(filepath.Join(dir, published+".info"), []byte(`{"Version":"`+published+`"}`), 0o600),
		os.WriteFile(filepath.Join(dir, "list"), []byte(published+"\n"), 0o600),
	)
}

// types runs a line of a page, and returns what it prints. The folder of a cd holds for later
// lines.
func (r *reader) types(line string) string {
	r.t.Helper()
	const folder = "\nfolder: "
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", line+"\nprintf '"+`\nfolder: `+"%s' \"$PWD\"")
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	text, dir, found := strings.Cut(string(out), folder)
	if err != nil || !found {
		r.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	r.dir = dir
	return text
}

// write writes a file of the reader.
func (r *reader) write(name string, content []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// typed is a command of a page, with what the page says that it prints.
type typed struct{ command, prints string }

// commandsOf returns the commands in the indented blocks of a part of a page. A command begins
// with the prompt. The lines below it are those that it prints. A line that is indented further is
// no command.
func commandsOf(part, prompt string) (all []typed) {
	for line := range strings.Lines(part) {
		text, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		if command, isOne := strings.CutPrefix(text, prompt); isOne && !strings.HasPrefix(text, " ") {
			all = append(all, typed{command: strings.TrimSpace(command)})
		} else if len(all) > 0 {
			all[len(all)-1].prints += text
		}
	}
	return all
}

// part returns the part of a page under a heading.
func part(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading)
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// moment is the time that package log prints.
var moment = regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)

// wantPrinted checks what a command has printed. The sign … of a page stands for any text. Lines
// of parallel nodes come in any order.
func wantPrinted(t *testing.T, command, got, want string) {
	t.Helper()
	lines := func(text string) []string {
		text = strings.TrimSpace(moment.ReplaceAllString(text, ""))
		all := strings.Split(strings.TrimSuffix(text, "\nexit status 1"), "\n") // of go run
		slices.Sort(all)
		return all
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(lines(want), "\n")), "…", ".*")
	if !regexp.MustCompile("^" + pattern + "$").MatchString(strings.Join(lines(got), "\n")) {
		t.Errorf("%s: got\n%s\nwant as the page shows\n%s", command, got, want)
	}
}

// TestProgramsHaveNoDatabasesOfTests checks that no test of a package that programs import needs a
// database, but for the savers on one. The go.sum of a program has all modules that those tests
// need.
func TestProgramsHaveNoDatabasesOfTests(t *testing.T) {
	list := func(args ...string) []string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	packages := slices.DeleteFunc(list("../runtime/...", "../inspect", "../savers/file", "../savers/memory", "../savers/compress", "../savers/encrypt"),
		func(name string) bool { return strings.Contains(name, "/internal/") })
	for _, needed := range list(append([]string{"-test", "-deps"}, packages...)...) {
		for _, database := range []string{"modernc.org/", "github.com/jackc/", "github.com/redis/", "github.com/go-sql-driver/"} {
			if strings.HasPrefix(needed, database) {
				t.Errorf("a test of a package that programs import needs %s; go mod why -m names it; move it to a package of tests only, such as runtime/worker/internal/fleet", needed)
			}
		}
	}
}

// runs types the commands of a page. A comment behind a command is part of the text that it
// prints. Before go mod tidy, it writes the program.
func (r *reader) runs(commands []typed, program string) {
	r.t.Helper()
	for _, c := range commands {
		command, comment, _ := strings.Cut(c.command, "#")
		if strings.HasPrefix(command, "go mod tidy") {
			r.write("hello.go", []byte(program))
		}
		printed := r.types(command)
		if comment = strings.TrimSpace(comment); !strings.Contains(printed, comment) {
			r.t.Errorf("%s: got %q, want %q in it", command, printed, comment)
		}
	}
}

// firstProgram returns the commands of the page of the first program, those that use a clone, and
// the program.
func firstProgram(t *testing.T) (published, clone []typed, program string) {
	t.Helper()
	page := string(read(t, "hello.md"))
	for _, b := range blocks([]byte(page)) {
		program += b.code
	}
	above, _, _ := strings.Cut(page, "```go\n")
	published, clone = commandsOf(above, ""), commandsOf(part(t, page, "From a clone"), "")
	if len(published) < 5 || len(clone) != 3 || program == "" {
		t.Fatalf("the page has the commands %q and %q", published, clone)
	}
	return published, clone, program
}

// TestTheFirstProgramWorksFromAClone runs the commands that replace the published module by a
// clone. The clone is the work tree.
func TestTheFirstProgramWorksFromAClone(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	published, clone, program := firstProgram(t)
	if err := os.RemoveAll(filepath.Join(r.proxy, "github.com", "graphgen-go")); err != nil {
		t.Fatal(err) // nothing is published
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	r.runs(published[:1], program)
	if err := os.Symlink(root, filepath.Join(r.dir, "..", "graphgen")); err != nil {
		t.Fatal(err)
	}
	if want := "git clone https://github.com/graphgen-go/graphgen ../graphgen"; clone[0].command != want {
		t.Fatalf("got %q, want %q", clone[0].command, want)
	}
	r.runs(append(clone[1:], published[2:]...), program)
}

// TestPagesSayHowToInstallBeforePublication checks that each page with a command that needs a
// published module says what to do before there is one.
func TestPagesSayHowToInstallBeforePublication(t *testing.T) {
	all := pages(t)
	for _, pattern := range []string{"../*/README.md", "../*/*/README.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	n := 0
	for _, name := range all {
		page := read(t, name)
		if !regexp.MustCompile(`(?m)^(?:    )?go (?:get|install) .*github\.com/graphgen-go/graphgen`).Match(page) {
			continue
		}
		n++
		if !strings.Contains(string(page), "#from-a-clone)") {
			t.Errorf("%s has a command that fails before publication: link to docs/hello.md#from-a-clone", name)
		}
	}
	if n < 5 {
		t.Errorf("only %d pages have such a command", n)
	}
}

// TestTheFirstMinuteWorksAsPrinted runs the commands of the first program, with which those of
// README begin. A program pays only for the dependencies that it has: none of the databases is
// among its modules.
func TestTheFirstMinuteWorksAsPrinted(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	published, _, program := firstProgram(t)
	if start := commandsOf(part(t, string(read(t, "../README.md")), "Start"), ""); !slices.Equal(start, published[:len(start)]) {
		t.Errorf("README begins with the commands %q, and the first program with %q", start, published)
	}
	r.runs(published, program)
	sums, err := os.ReadFile(filepath.Join(r.dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for line := range strings.Lines(string(sums)) {
		name, _, _ := strings.Cut(line, " ")
		if !slices.Contains(modules, name) {
			modules = append(modules, name)
		}
	}
	if len(modules) > 12 {
		t.Errorf("the first program has %d modules in go.sum, want at most 12: %s", len(modules), strings.Join(modules, "\n"))
	}
	t.Logf("%d modules", len(modules))
}

// TestTheTutorialWorksAsPrinted runs the commands of each step of the tutorial but the last, whose
// service has a test of its own.
func TestTheTutorialWorksAsPrinted(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	page := string(read(t, "tutorial.md"))
	intro, _, _ := strings.Cut(page, "\n## ")
	begin := commandsOf(intro, "")
	if len(begin) != 4 {
		t.Fatalf("the tutorial begins with the commands %q, want four", begin)
	}
	r.types(begin[0].command)
	r.types(begin[1].command)
	for _, step := range []string{"1", "2", "3", "4"} {
		old, err := filepath.Glob(filepath.Join(r.dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		files, err := filepath.Glob("tutorial/step" + step + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("step %s has no files: %v", step, err)
		}
		for _, name := range files {
			if filepath.Base(name) != "state_graphgen.go" {
				r.write(filepath.Base(name), read(t, name))
			}
		}
		r.types(begin[2].command)
		commands := commandsOf(part(t, page, "Step "+step+":"), "$ ")
		if len(commands) == 0 {
			t.Fatalf("step %s shows no command", step)
		}
		for _, c := range commands {
			wantPrinted(t, "step "+step+": "+c.command, r.types(c.command), c.prints)
		}
	}
}

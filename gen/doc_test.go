package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDirectivesInDocCommentsCompile generates code for each declaration with a directive that a
// doc comment shows, and compiles the two.
func TestDirectivesInDocCommentsCompile(t *testing.T) {
	shown := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			blocks, prose := shownIn(group)
			if strings.Contains(prose, "graphgen -type=") {
				t.Errorf("%s: the text says which command to run; show the directive and the type, which this test compiles", path)
			}
			for _, block := range blocks {
				shown++
				compiles(t, path, block)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if shown == 0 {
		t.Error("no doc comment shows a type with a directive")
	}
}

var (
	shownDirective = regexp.MustCompile(`(?m)^//(graphgen:|go:generate .*graphgen )`)
	shownType      = regexp.MustCompile(`(?m)^type \w+ struct`)
)

// shownIn returns the code of a comment that has a type with a directive, and its text. Lines of
// code begin with a tab.
func shownIn(group *ast.CommentGroup) (blocks []string, prose string) {
	var block, text []string
	end := func() {
		code := strings.Join(block, "\n")
		if shownDirective.MatchString(code) && shownType.MatchString(code) {
			blocks = append(blocks, code)
		}
		block = nil
	}
	for _, comment := range group.List {
		line := strings.TrimPrefix(comment.Text, "//")
		switch code, isCode := strings.CutPrefix(line, "\t"); {
		case isCode:
			block = append(block, code)
		case line == "" && block != nil:
			block = append(block, "")
		case !strings.HasPrefix(line, "go:generate"):
			end()
			text = append(text, line)
		}
	}
	end()
	return blocks, strings.Join(text, "\n")
}

// compiles generates code for declarations and type-checks the two.
func compiles(t *testing.T, path, block string) {
	t.Helper()
	source := "package m\n"
	for name, imported := range map[string]string{"store": storePath, "asjson": asjsonPath} {
		if strings.Contains(block, name+".") {
			source += "import \"" + imported + "\"\n"
		}
	}
	fset := token.NewFileSet()
	source += block
	if got := complaints(t, fset, source, generated(t, fset, source)); got != nil {
		t.Errorf("%s: what the comment shows does not compile: %q\n%s", path, got, source)
	}
}

const (
	storePath  = "github.com/graphgen-go/graphgen/runtime/store"
	asjsonPath = statePath + "/asjson"
)

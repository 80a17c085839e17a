package sqlsaver

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Query is a statement in the files of a dialect.
type Query struct {
	Name       string
	Text       string   // as the server gets it
	Parameters []string // in the order in which Text binds them; MySQL binds some more than once
	Returns    []string // the columns of its rows; nil if it returns none
}

// Queries reads all *.sql files of a folder. A comment before each statement has its name, its
// parameters and the columns that it returns. A semicolon at the end of a line ends it:
//
//	-- name: version
//	-- Reads a version of a thread.
//	-- parameters: thread_no, number
//	-- returns: root, status, updated, released
//	SELECT root, status, updated, released
//	FROM graph_version
//	WHERE thread_no = $1 AND number = $2;
//
// Queries fails if a statement does not bind as many values as it has parameters.
func Queries(folder fs.FS) (all []Query, err error) {
	names, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		queries, err := parseQueries(string(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, queries...)
	}
	return all, nil
}

// parseQueries reads a file. Comments may stand before its first statement.
func parseQueries(file string) (all []Query, err error) {
	sections := strings.Split("\n"+file, "\n-- name: ")
	if hasSQL(sections[0]) {
		return nil, errors.New("a statement has no name: begin the comment before it with \"-- name: \" and one")
	}
	for _, section := range sections[1:] {
		q, err := parseQuery(section)
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

// hasSQL reports whether a text has a line that is neither empty nor a comment.
func hasSQL(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		return line != "" && !strings.HasPrefix(line, "--")
	})
}

// parseQuery reads a statement; text begins with its name.
func parseQuery(text string) (q Query, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	q.Name = lines[0]
	lists, i := map[string]string{"parameters": "", "returns": ""}, 1
	list := ""
	for ; i < len(lines) && strings.HasPrefix(lines[i], "-- "); i++ {
		name, names, _ := strings.Cut(lines[i][len("-- "):], ": ")
		if _, isList := lists[name]; isList {
			list, lists[name] = name, names
		} else if names, continues := strings.CutPrefix(lines[i], "--   "); continues && list != "" {
			lists[list] += " " + names
		}
	}
	body, ends := strings.CutSuffix(strings.Join(lines[i:], "\n"), ";")
	if !ends || strings.Contains(body, ";\n") {
		return q, fmt.Errorf("%s: want one statement that ends with a semicolon", q.Name)
	}
	q.Text, q.Parameters, q.Returns = body, nameList(lists["parameters"]), nameList(lists["returns"])
	if bound, err := boundValues(body); err != nil || bound != len(q.Parameters) {
		return q, errors.Join(fmt.Errorf("%s: it binds %d values, and names %d parameters", q.Name, bound, len(q.Parameters)), err)
	}
	return q, nil
}

// times finds how often a list of names is repeated.
var times = regexp.MustCompile(` \((\d+) times\)$`)

// nameList returns the names of a list such as "root, base (4 times)"; nil if it is empty.
func nameList(list string) []string {
	if list == "" {
		return nil
	}
	n := 1
	if found := times.FindStringSubmatch(list); found != nil {
		list = strings.TrimSuffix(list, found[0])
		n, _ = strconv.Atoi(found[1]) // they are digits
	}
	return slices.Repeat(strings.Split(list, ", "), n)
}

// placeholder finds the bound values of a statement: $1, ?1 or ?.
var placeholder = regexp.MustCompile(`[$?](\d*)`)

// literal finds the string literals of a statement. They bind nothing.
var literal = regexp.MustCompile(`'[^']*'`)

// boundValues returns how many values a statement binds. If they are numbered, every number must
// occur.
func boundValues(text string) (n int, err error) {
	used := make(map[int]bool)
	for _, found := range placeholder.FindAllStringSubmatch(literal.ReplaceAllString(text, "''"), -1) {
		number := len(used) + 1
		if found[1] != "" {
			number, _ = strconv.Atoi(found[1]) // they are digits
		}
		used[number] = true
	}
	for number := range len(used) {
		if !used[number+1] {
			err = fmt.Errorf("it does not bind value %d", number+1)
		}
	}
	return len(used), err
}

// Links checks the links between the pages of the built site: every page and every heading that a
// link names exists.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: links FOLDER BASE, such as site/public /graphgen/")
		os.Exit(2)
	}
	broken, err := check(os.DirFS(os.Args[1]), os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "links:", err)
		os.Exit(1)
	}
	for _, line := range broken {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}

var (
	target = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor = regexp.MustCompile(`\bid="([^"]*)"`)
)

// check returns a line for each broken link in the pages of a site that is served under base.
func check(site fs.FS, base string) ([]string, error) {
	pages := make(map[string]string)
	ids := make(map[string]bool) // page#heading
	err := fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		b, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		pages[name] = string(b)
		for _, m := range anchor.FindAllStringSubmatch(pages[name], -1) {
			ids[name+"#"+m[1]] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, errors.New("the folder has no pages")
	}
	var broken []string
	for name, page := range pages {
		for _, m := range target.FindAllStringSubmatch(page, -1) {
			to, heading, _ := strings.Cut(m[1], "#")
			file := name
			if to != "" {
				inside, ok := strings.CutPrefix(to, base)
				if !ok {
					continue // another site
				}
				file = path.Join(inside, "index.html")
				if path.Ext(inside) != "" {
					file = inside
				}
			}
			if _, err := fs.Stat(site, file); err != nil {
				broken = append(broken, fmt.Sprintf("%s links to %s, which does not exist", name, m[1]))
			} else if heading != "" && !ids[file+"#"+heading] {
				broken = append(broken, fmt.Sprintf("%s links to %s, which has no such heading", name, m[1]))
			}
		}
	}
	return broken, nil
}

package main

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestBrokenLinksAreFound(t *testing.T) {
	site := fstest.MapFS{
		"index.html": {Data: []byte(`<a href="/g/a/">a</a> <a href="/g/a/#one">a</a> <a href="/g/b/">b</a> <script src="/g/x.js"></script>`)},
		"a/index.html": {Data: []byte(`<h2 id="one">One</h2> <a href="#one">#</a> <a href="#two">#</a>
<a href="https://example.com/b/#two">elsewhere</a> <a href="/g/#none">home</a>`)},
		"x.js": {},
	}
	got, err := check(site, "/g/")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		"a/index.html links to #two, which has no such heading",
		"a/index.html links to /g/#none, which has no such heading",
		"index.html links to /g/b/, which does not exist",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := check(fstest.MapFS{}, "/g/"); err == nil {
		t.Error("a folder without pages is no error")
	}
}

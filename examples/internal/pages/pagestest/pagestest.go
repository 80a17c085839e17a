// Package pagestest reads the pages that a command of an example serves.
package pagestest

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Site is a command that serves pages. Its process ends with the test.
type Site struct {
	t    *testing.T
	base string
}

// Start starts a command, which must print the address of its pages first. At the end of the test
// it interrupts the command, which must then end without an error.
func Start(t *testing.T, name string, args ...string) *Site {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %v, interrupted: %v\n%s", name, args, err, stderr.String())
		}
	})
	if err != nil {
		t.Fatalf("%s %v printed no address: %v", name, args, err)
	}
	return &Site{t, strings.TrimSpace(line)}
}

// Get returns the body of a page, which must have each of the texts.
func (s *Site) Get(page string, texts ...string) string {
	s.t.Helper()
	body := s.read(http.Get(s.base + page))
	for _, text := range texts {
		if !strings.Contains(body, text) {
			s.t.Errorf("GET %s lacks %q:\n%s", page, text, body)
		}
	}
	return body
}

// Field returns the value of the first hidden field of that name in the forms of a page.
func (s *Site) Field(page, name string) string {
	s.t.Helper()
	body := s.Get(page)
	found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]+)"`).FindStringSubmatch(body)
	if found == nil {
		s.t.Fatalf("GET %s has no field %s:\n%s", page, name, body)
	}
	return html.UnescapeString(found[1])
}

// Post posts a form and returns the body of the page that follows. pairs are names and values.
func (s *Site) Post(page string, pairs ...string) string {
	s.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return s.read(http.PostForm(s.base+page, form))
}

// Until reads a page until it has a text.
func (s *Site) Until(page, text string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // another program changes the page
		body := s.Get(page)
		if strings.Contains(body, text) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("after a minute, GET %s lacks %q:\n%s", page, text, body)
		}
	}
}

// read returns the body of a response, whose status must be 200.
func (s *Site) read(r *http.Response, err error) string {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil {
		s.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: status %d:\n%s", r.Request.Method, r.Request.URL, r.StatusCode, body)
	}
	return string(body)
}

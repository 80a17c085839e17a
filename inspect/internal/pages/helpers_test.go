package pages_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// site is a server with the pages at /inspect/.
type site struct {
	*testing.T
	url string
}

// serve serves the pages of a saver.
func serve(t *testing.T, saver checkpoint.Saver, o inspect.Options, apps ...inspect.App) *site {
	t.Helper()
	pages, err := inspect.New(saver, o, apps...)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/inspect/", http.StripPrefix("/inspect", pages))
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		pages.Close()
	})
	return &site{t, s.URL + "/inspect/"}
}

// get returns the status and the body of a page.
func (s *site) get(page string) (int, string) {
	s.Helper()
	return s.do(http.MethodGet, page, nil, nil)
}

// page returns the body of a page that must exist.
func (s *site) page(page string) string {
	s.Helper()
	status, body := s.get(page)
	if status != http.StatusOK {
		s.Fatalf("GET %s: got status %d: %s", page, status, body)
	}
	return body
}

// post posts a form and follows the redirect.
func (s *site) post(page string, form url.Values) (int, string) {
	s.Helper()
	return s.do(http.MethodPost, page, form, nil)
}

// act posts an action on a thread. pairs are further fields.
func (s *site) act(action inspect.Action, id string, pairs ...string) (int, string) {
	s.Helper()
	form := url.Values{"action": {string(action)}, "id": {id}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return s.post("act", form)
}

func (s *site) do(method, page string, form url.Values, header http.Header) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+page, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// has fails the test if a page lacks one of the texts.
func (s *site) has(page string, want ...string) string {
	s.Helper()
	body := s.page(page)
	for _, text := range want {
		if !strings.Contains(body, text) {
			s.Errorf("GET %s lacks %q:\n%s", page, text, body)
		}
	}
	return body
}

// lacks fails the test if a page has one of the texts.
func (s *site) lacks(page string, unwanted ...string) {
	s.Helper()
	body := s.page(page)
	for _, text := range unwanted {
		if strings.Contains(body, text) {
			s.Errorf("GET %s has %q:\n%s", page, text, body)
		}
	}
}

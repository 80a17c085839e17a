package main

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// client opens a connection for each request, because a connection of a stopped service must not
// be reused.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// service is a running service under test.
type service struct {
	t    *testing.T
	url  string
	addr string
	stop func() // returns when the service has stopped, which must succeed
}

// start runs the service on dir. addr may be the address of a stopped service, or empty.
func start(t *testing.T, dir, addr string, o office) *service {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l, dir, o, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	s := &service{t: t, url: "http://" + l.Addr().String(), addr: l.Addr().String()}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("the service stopped with %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// stepwise returns an office whose orders wait for a call of pass at each step. Tests therefore do
// not depend on the speed of the machine.
func stepwise() (o office, pass func()) {
	steps := make(chan struct{})
	pause := func(ctx context.Context) error {
		select {
		case <-steps:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return office{pause: pause}, func() { steps <- struct{}{} }
}

// do sends a request, follows redirects, and returns the status, the body and the final path.
func (s *service) do(req *http.Request) (status int, body, at string) {
	s.t.Helper()
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, html.UnescapeString(string(b)), res.Request.URL.Path
}

func (s *service) request(method, path string, form url.Values) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

func (s *service) get(path string) string {
	s.t.Helper()
	status, body, _ := s.do(s.request(http.MethodGet, path, nil))
	if status != http.StatusOK {
		s.t.Fatalf("GET %s: got status %d: %s", path, status, body)
	}
	return body
}

var (
	keyField      = regexp.MustCompile(`name="key" value="([a-z2-7]+)"`)
	questionField = regexp.MustCompile(`name="question" value="([^"]+)"`)
	logLine       = regexp.MustCompile(`<li>(.*)</li>`)
	afterField    = regexp.MustCompile(`data-after="([^"]+)"`)
)

func field(t *testing.T, re *regexp.Regexp, page string) string {
	t.Helper()
	m := re.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no %s in the page:\n%s", re, page)
	}
	return m[1]
}

// ask submits the form of the first page and returns the path of the request.
func (s *service) ask(item, price, by string) string {
	s.t.Helper()
	form := url.Values{"key": {field(s.t, keyField, s.get("/"))}, "item": {item}, "price": {price}, "by": {by}}
	status, body, at := s.do(s.request(http.MethodPost, "/requests", form))
	if status != http.StatusOK {
		s.t.Fatalf("the request: got status %d: %s", status, body)
	}
	return at
}

// settled waits until no run of the request is in progress, and returns its page.
func (s *service) settled(path string) string {
	s.t.Helper()
	s.events(path, "").rest()
	return s.get(path)
}

// vote answers a question.
func (s *service) vote(path, question, vote, by string) (status int, body string) {
	s.t.Helper()
	form := url.Values{"question": {question}, "vote": {vote}, "by": {by}, "note": {""}}
	status, body, _ = s.do(s.request(http.MethodPost, path+"/answers", form))
	return status, body
}

// lines returns the lines of the log on a request's page.
func lines(page string) []string {
	var found []string
	for _, m := range logLine.FindAllStringSubmatch(page, -1) {
		found = append(found, m[1])
	}
	return found
}

// watch is an open event stream.
type watch struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string
}

func (s *service) events(path, last string) *watch {
	s.t.Helper()
	req := s.request(http.MethodGet, path+"/events", nil)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("events of %s: got status %d", path, res.StatusCode)
	}
	return &watch{t: s.t, lines: bufio.NewScanner(res.Body)}
}

// next returns the name and data of the next event. It returns "" at the end.
func (w *watch) next() string {
	var name string
	for w.lines.Scan() {
		switch field, value, _ := strings.Cut(w.lines.Text(), ": "); field {
		case "id":
			w.last = value
		case "event":
			name = value
		case "data":
			return name + " " + value
		}
	}
	return ""
}

func (w *watch) until(event string) {
	w.t.Helper()
	for e := w.next(); e != event; e = w.next() {
		if e == "" {
			w.t.Fatalf("the stream ended before %s", event)
		}
	}
}

func (w *watch) rest() []string {
	var all []string
	for e := w.next(); e != ""; e = w.next() {
		all = append(all, e)
	}
	return all
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSmallThingsNeedNobody(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	page := s.settled(s.ask("A mouse", "12.50", "Ada"))
	same(t, "log", lines(page), []string{"A mouse costs 12.50: nobody has to approve it", "A mouse is ordered"})
	if strings.Contains(s.get("/"), `id="waiting"`) {
		t.Error("something waits")
	}
}

func TestThePagesOfThreads(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	path := s.ask("A chair", "300", "Ada")
	s.settled(path)
	id := strings.TrimPrefix(path, "/requests/")
	body := s.get("/inspect/thread?id=" + id)
	for _, want := range []string{"A chair", "approve", `src="picture.svg?`, "waiting"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of the thread lacks %q: %s", want, body)
		}
	}
	if strings.Contains(body, `action="act"`) {
		t.Errorf("the page offers actions: %s", body)
	}
}

func TestARequestWaitsThroughARestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	s.stop()

	s = start(t, dir, "", office{})
	if list := s.get("/"); !strings.Contains(list, `href="`+path+`"`) || !strings.Contains(list, "A chair") {
		t.Errorf("the list does not show what waits:\n%s", list)
	}
	page := s.settled(path)
	same(t, "the question", field(t, questionField, page), question)
	if status, body := s.vote(path, question, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the answer: got status %d: %s", status, body)
	}
	same(t, "log", lines(s.settled(path)), []string{
		"A chair costs 300.00: one person has to approve it", "Grace approved it", "A chair is ordered",
	})
	if strings.Contains(s.get("/"), "A chair") {
		t.Error("the list still shows it")
	}
}

func TestADamagedRequestDoesNotHideTheOthers(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	for _, item := range []string{"A chair", "A table"} {
		s.settled(s.ask(item, "300", "Ada"))
	}
	s.stop()
	files, err := filepath.Glob(filepath.Join(dir, "*.saver"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: got %q, %v; want one", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], bytes.ReplaceAll(b, []byte("A chair"), []byte("A choir")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := start(t, dir, "", office{}).get("/")
	if strings.Contains(list, "A chair") == strings.Contains(list, "A table") || !strings.Contains(list, `id="damaged"`) {
		t.Errorf("the list does not show the other request and the damaged one:\n%s", list)
	}
}

func TestVotesThatCount(t *testing.T) {
	type vote struct{ vote, by string }
	for _, tc := range []struct {
		name  string
		votes []vote
		want  []string // after the first line
	}{
		{"two people", []vote{{"approve", "Grace"}, {"approve", "Edsger"}}, []string{"Grace approved it", "Edsger approved it", "A desk is ordered"}},
		{"one denies", []vote{{"approve", "Grace"}, {"deny", "Edsger"}}, []string{"Grace approved it", "Edsger denied it", "A desk is not bought"}},
		{"the first denies", []vote{{"deny", "Grace"}}, []string{"Grace denied it", "A desk is not bought"}},
		{"one twice", []vote{{"approve", "Grace"}, {"approve", " grace "}, {"approve", "Edsger"}}, []string{
			"Grace approved it", "grace has approved it already: somebody else has to", "Edsger approved it", "A desk is ordered"}},
		{"one's own", []vote{{"approve", "ada"}, {"deny", "Ada"}}, []string{"ada cannot approve a request of their own", "Ada denied it", "A desk is not bought"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, t.TempDir(), "", office{})
			path := s.ask("A desk", "1000", "Ada")
			for _, v := range tc.votes {
				if status, body := s.vote(path, field(t, questionField, s.settled(path)), v.vote, v.by); status != http.StatusOK {
					t.Fatalf("%v: got status %d: %s", v, status, body)
				}
			}
			page := s.settled(path)
			same(t, "log", lines(page), append([]string{"A desk costs 1000.00: 2 people have to approve it"}, tc.want...))
			if questionField.MatchString(page) {
				t.Error("the page still asks")
			}
		})
	}
}

func TestAnAnswerToWhatIsDecidedIsNotCounted(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	path := s.ask("A desk", "1500", "Ada")
	stale := field(t, questionField, s.settled(path))
	if status, body := s.vote(path, stale, "approve", "Grace"); status != http.StatusOK {
		t.Fatalf("the first answer: got status %d: %s", status, body)
	}
	before := s.settled(path) // asks the second person now: a different question
	status, body := s.vote(path, stale, "deny", "Edsger")
	if status != http.StatusConflict || !strings.Contains(body, "already decided") {
		t.Errorf("got status %d, want 409 and why:\n%s", status, body)
	}
	same(t, "log", lines(s.settled(path)), lines(before))
	if field(t, questionField, body) == stale {
		t.Error("the answer shows the old question")
	}
}

func TestOfAnswersAtOnceOneCounts(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	const people = 8
	statuses := make(chan int, people)
	for range people {
		go func() {
			status, _ := s.vote(path, question, "approve", "Grace")
			statuses <- status
		}()
	}
	got := map[int]int{}
	for range people {
		got[<-statuses]++
	}
	same(t, "statuses", got, map[int]int{http.StatusOK: 1, http.StatusConflict: people - 1})
	same(t, "log", lines(s.settled(path))[1:], []string{"Grace approved it", "A chair is ordered"})
}

func TestAFormSentTwiceIsOneRequest(t *testing.T) {
	for _, price := range []string{"3", "300"} { // one finished, one pending
		s := start(t, t.TempDir(), "", office{})
		form := url.Values{"key": {field(t, keyField, s.get("/"))}, "item": {"Tea"}, "price": {price}, "by": {"Ada"}}
		var logs [][]string
		for range 2 {
			status, body, at := s.do(s.request(http.MethodPost, "/requests", form))
			if status != http.StatusOK {
				t.Fatalf("got status %d: %s", status, body)
			}
			logs = append(logs, lines(s.settled(at)))
		}
		same(t, "log after the second", logs[1], logs[0])
	}
}

func TestProgressIsShownWhileItHappens(t *testing.T) {
	o, pass := stepwise()
	s := start(t, t.TempDir(), "", o)
	w := s.events(s.ask("Tea", "3", "Ada"), "") // receives all events from here
	pass()
	w.until(`progress "comparing offers"`)
	pass()
	w.until(`progress "writing the order"`)
	pass()
	same(t, "the rest", w.rest(), []string{
		`checkpoint {"log":["Tea costs 3.00: nobody has to approve it","Tea is ordered"],"outcome":"ordered"}`, `end "done"`,
	})
}

func TestAStreamContinuesAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "", office{})
	path := s.ask("A chair", "300", "Ada")
	w := s.events(path, "")
	w.until(`end "waiting"`)
	page := s.get(path)
	s.stop()
	s = start(t, dir, s.addr, office{})
	if status, body := s.vote(path, field(t, questionField, page), "deny", "Grace"); status != http.StatusOK {
		t.Fatalf("got status %d: %s", status, body)
	}
	s.settled(path)
	var checkpoints int
	for _, e := range s.events(path, w.last).rest() {
		if strings.HasPrefix(e, "checkpoint") {
			checkpoints++
		}
	}
	same(t, "checkpoints since", checkpoints, 2) // decide, close
	// The page contains its own position.
	after := s.request(http.MethodGet, path+"/events?after="+field(t, afterField, page), nil)
	if status, body, _ := s.do(after); status != http.StatusOK || strings.Count(body, "event: checkpoint") != 2 {
		t.Errorf("after what the page shows: got status %d:\n%s", status, body)
	}
}

func TestWhatIsRefused(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	path := s.ask("A chair", "300", "Ada")
	question := field(t, questionField, s.settled(path))
	key := field(t, keyField, s.get("/"))
	for _, tc := range []struct {
		name, method, path string
		form               url.Values
		header             [2]string
		want               int
	}{
		{"no such request", http.MethodGet, "/requests/none", nil, [2]string{}, 404},
		{"no such stream", http.MethodGet, "/requests/none/events", nil, [2]string{}, 404},
		{"a bad place in a stream", http.MethodGet, path + "/events?after=x", nil, [2]string{}, 400},
		{"an answer to no such request", http.MethodPost, "/requests/none/answers", url.Values{"question": {question}, "vote": {"deny"}, "by": {"x"}}, [2]string{}, 404},
		{"an answer without a name", http.MethodPost, path + "/answers", url.Values{"question": {question}, "vote": {"deny"}, "by": {" "}}, [2]string{}, 400},
		{"an answer that is none", http.MethodPost, path + "/answers", url.Values{"question": {question}, "by": {"x"}}, [2]string{}, 400},
		{"an answer from another site", http.MethodPost, path + "/answers", url.Values{"question": {question}, "vote": {"deny"}, "by": {"x"}}, [2]string{"Origin", "https://evil.example"}, 403},
		{"a request from another site", http.MethodPost, "/requests", url.Values{"key": {key}, "item": {"x"}, "price": {"1"}, "by": {"x"}}, [2]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a request without a key", http.MethodPost, "/requests", url.Values{"item": {"x"}, "price": {"1"}, "by": {"x"}}, [2]string{}, 400},
		{"a request for nothing", http.MethodPost, "/requests", url.Values{"key": {key}, "price": {"1"}, "by": {"x"}}, [2]string{}, 400},
		{"a price that is none", http.MethodPost, "/requests", url.Values{"key": {key}, "item": {"x"}, "price": {"1.234"}, "by": {"x"}}, [2]string{}, 400},
		{"a negative price", http.MethodPost, "/requests", url.Values{"key": {key}, "item": {"x"}, "price": {"-1"}, "by": {"x"}}, [2]string{}, 400},
		{"too much", http.MethodPost, "/requests", url.Values{"key": {key}, "item": {strings.Repeat("x", 1<<20)}, "price": {"1"}, "by": {"x"}}, [2]string{}, 400},
	} {
		req := s.request(tc.method, tc.path, tc.form)
		if tc.header[0] != "" {
			req.Header.Set(tc.header[0], tc.header[1])
		}
		if status, body, _ := s.do(req); status != tc.want {
			t.Errorf("%s: got status %d, want %d: %s", tc.name, status, tc.want, body)
		}
	}
	same(t, "the question, after all that", field(t, questionField, s.settled(path)), question)
}

func TestWhatPeopleWriteIsText(t *testing.T) {
	s := start(t, t.TempDir(), "", office{})
	path := s.ask("<script>alert(1)</script>", "300", "Ada")
	s.settled(path)
	for _, p := range []string{"/", path} {
		res, err := client.Do(s.request(http.MethodGet, p, nil))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "<script>alert") || !strings.Contains(string(raw), "&lt;script&gt;") {
			t.Errorf("%s: the item is not escaped", p)
		}
	}
}

func TestPrices(t *testing.T) {
	for in, want := range map[string]int64{"12": 1200, "12.5": 1250, " 12.50 ": 1250, "0.05": 5, "12.": 1200} {
		if got, err := readPrice(in); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "x", "1.x", "1,5", ".5", "1.2.3", "1.+5", "99999999999"} {
		if got, err := readPrice(in); err == nil {
			t.Errorf("%q: got %d, want an error", in, got)
		}
	}
}

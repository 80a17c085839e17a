package pages_test

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// onSavers runs a test on the memory saver and on SQLite.
func onSavers(t *testing.T, run func(t *testing.T, saver checkpoint.Saver)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { run(t, newSaver(t)) })
	t.Run("sqlite", func(t *testing.T) { run(t, newSQLite(t)) })
}

func newSQLite(tb testing.TB) *sqlite.Saver {
	tb.Helper()
	s, err := sqlite.Open(filepath.Join(tb.TempDir(), "threads.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// fixture is a waiting thread, order-1, with its pages.
type fixture struct {
	*site
	saver checkpoint.Saver
	app   *shop
	res   graph.Result[Shop]
	ids   []checkpoint.ID // of the checkpoints, newest first
}

func newFixture(t *testing.T, saver checkpoint.Saver, o inspect.Options) *fixture {
	t.Helper()
	app := newShop(t, saver)
	f := &fixture{saver: saver, app: app, res: begin(t, app, "order-1", "Ada")}
	for rec, err := range saver.History(t.Context(), checkpoint.Ref{Thread: "order-1"}, checkpoint.Query{Headers: true}) {
		if err != nil {
			t.Fatal(err)
		}
		f.ids = append(f.ids, rec.ID)
	}
	f.site = serve(t, saver, o, app)
	return f
}

// stored returns what the saver has of a thread; a zero Thread if it has none.
func (f *fixture) stored(id string) checkpoint.Thread {
	f.Helper()
	for th, err := range f.saver.Threads(f.Context(), checkpoint.ThreadQuery{Prefix: id}) {
		if err != nil {
			f.Fatal(err)
		}
		if th.ID == id {
			return th
		}
	}
	return checkpoint.Thread{}
}

// mail returns the kinds of the messages that wait in a thread.
func (f *fixture) mail(id string) (kinds []checkpoint.MessageKind) {
	f.Helper()
	all, err := f.saver.Mail(f.Context(), checkpoint.MailQuery{Thread: id, Limit: 10})
	if err != nil {
		f.Fatal(err)
	}
	for i := range all {
		kinds = append(kinds, all[i].Kind)
	}
	return kinds
}

func (f *fixture) due(id string) bool {
	f.Helper()
	ready, err := f.saver.Ready(f.Context(), checkpoint.ReadyQuery{Graphs: []string{"shop"}, Limit: 10})
	if err != nil {
		f.Fatal(err)
	}
	return slices.ContainsFunc(ready.Threads, func(r checkpoint.ReadyThread) bool { return r.ID == id })
}

// actions are the requests of all actions on the thread of a fixture, and the check that they had
// an effect.
var actions = []struct {
	action inspect.Action
	page   string
	form   func(f *fixture) url.Values
	note   string
	done   func(f *fixture) bool
}{
	{inspect.Wake, "act", nil, "The thread is due now", func(f *fixture) bool { return f.due("order-1") }},
	{inspect.Resume, "act", func(f *fixture) url.Values {
		err := f.app.Thread("order-1").Answer(f.Context(), offer.Answer(f.res.Questions[0], Verdict{OK: true, Note: "good"}))
		if err != nil {
			f.Fatal(err)
		}
		return url.Values{}
	}, "A run was started", func(f *fixture) bool {
		if err := f.app.Drain(f.Context()); err != nil {
			f.Fatal(err)
		}
		snap, err := f.app.Thread("order-1").State(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		return slices.Contains(snap.State.Log, "approved true: good")
	}},
	{inspect.Replay, "act", func(f *fixture) url.Values { return url.Values{"at": {f.ids[1].String()}} }, "new branch", func(f *fixture) bool {
		return f.stored("order-1").Head != f.ids[0] && f.due("order-1")
	}},
	{inspect.Cancel, "act", func(*fixture) url.Values { return url.Values{"reason": {"no stock"}} }, "The cancel is stored", func(f *fixture) bool {
		_, err := f.app.Thread("order-1").Resume(f.Context())
		var cancelled *graph.CancelledError
		return errors.As(err, &cancelled) && strings.Contains(cancelled.Error(), "no stock")
	}},
	{inspect.Release, "act", nil, "The version is closed", func(f *fixture) bool {
		all, err := f.saver.Versions(f.Context(), "order-1")
		return err == nil && len(all) == 1 && !all[0].Released.IsZero()
	}},
	{inspect.Delete, "act", nil, "The thread is deleted", func(f *fixture) bool { return f.stored("order-1").ID == "" }},
	{inspect.Signal, "act", func(*fixture) url.Values { return url.Values{"signal": {"paid"}, "v.Card": {"4000"}} }, "The signal is stored",
		func(f *fixture) bool { return slices.Contains(f.mail("order-1"), checkpoint.SignalMessage) }},
	{inspect.Answer, "act", func(f *fixture) url.Values {
		return url.Values{"question": {f.res.Questions[0].ID}, "v.OK": {"true"}, "v.Note": {"fine"}}
	}, "The answer is stored", func(f *fixture) bool { return slices.Contains(f.mail("order-1"), checkpoint.AnswerMessage) }},
	{inspect.Edit, "edit", func(f *fixture) url.Values {
		return url.Values{"from": {f.ids[0].String()}, "json": {`{"Paid": true}`}}
	}, "The change is stored", func(f *fixture) bool {
		snap, err := f.app.Thread("order-1").State(f.Context())
		return err == nil && snap.State.Paid
	}},
	{inspect.Submit, "submit", func(*fixture) url.Values {
		return url.Values{"graph": {"shop"}, "json": {`{"Cents": 5}`}, "request": {"r1"}}
	}, "The input is stored", func(f *fixture) bool { return f.stored("order-1").Inputs == 1 }},
}

func TestEachActionAndItsRefusals(t *testing.T) {
	refuse := errors.New("not <you>")
	for _, a := range actions {
		t.Run(string(a.action), func(t *testing.T) {
			onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
				t.Helper()
				denied := false
				f := newFixture(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: func(_ *http.Request, x inspect.Access) error {
					if denied && x.Action == a.action && x.Thread == "order-1" && x.Graph == "shop" && !x.New {
						return refuse
					}
					return nil
				}})
				form := url.Values{}
				if a.form != nil {
					form = a.form(f)
				}
				form.Set("id", "order-1")
				form.Set("action", string(a.action))
				before := f.stored("order-1")

				readOnly := serve(t, saver, inspect.Options{}, f.app)
				others := slices.DeleteFunc(inspect.AllActions(), func(x inspect.Action) bool { return x == a.action })
				without := serve(t, saver, inspect.Options{Allow: others}, f.app)
				denied = true
				for name, s := range map[string]*site{"read-only": readOnly, "not allowed": without, "not authorised": f.site} {
					status, body := s.post(a.page, form)
					if status != http.StatusForbidden {
						t.Errorf("%s: got status %d: %s", name, status, body)
					}
					if s == f.site && !strings.Contains(body, "not &lt;you&gt;") {
						t.Errorf("the error of Authorize is not shown: %s", body)
					}
				}
				if after := f.stored("order-1"); after.Head != before.Head || after.Posted != before.Posted || after.Versions != before.Versions {
					t.Fatalf("a refused action changed the thread: got %+v, want %+v", after, before)
				}
				denied = false
				status, body := f.post(a.page, form)
				if status != http.StatusOK || !strings.Contains(body, a.note) {
					t.Errorf("allowed: got status %d: %s", status, body)
				}
				if !a.done(f) {
					t.Error("the action had no effect")
				}
			})
		})
	}
}

func TestPagesWithoutAnActionDoNotOfferIt(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{})
	for _, page := range []string{"", "thread?id=order-1", "history?id=order-1", "checkpoint?id=order-1&at=" + f.ids[1].String()} {
		f.lacks(page, `method="post"`, `href="edit`, `href="submit`, `href="bulk`)
	}
	for _, page := range []string{"edit?id=order-1", "submit", "submit?from=order-1", "bulk?action=delete"} {
		if status, body := f.get(page); status != http.StatusForbidden {
			t.Errorf("GET %s: got status %d: %s", page, status, body)
		}
	}
}

// A thread that is done has nothing to resume, wake, cancel or signal.
func TestPagesOfAnEndedThreadOfferNoActionOnItsRun(t *testing.T) {
	saver, app := travelled(t)
	f := &fixture{site: serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app), saver: saver}
	f.has("thread?id=t", "Submit like this", `value="release"`, `value="delete"`, `href="edit?id=t"`)
	for _, a := range []inspect.Action{inspect.Resume, inspect.Wake, inspect.Cancel, inspect.Signal} {
		f.lacks("thread?id=t", `name="action" value="`+string(a)+`"`)
	}
	before := f.stored("t")
	for _, a := range []inspect.Action{inspect.Wake, inspect.Cancel} {
		if status, body := f.act(a, "t"); status != http.StatusConflict || !strings.Contains(body, "submit an input") {
			t.Errorf("%s: got status %d: %s", a, status, body)
		}
	}
	if after := f.stored("t"); after.Posted != before.Posted || after.Head != before.Head {
		t.Errorf("got %+v, want %+v", after, before)
	}
}

// TestAWrongAnswerStaysInItsForm shows why it is wrong, and stores nothing.
func TestAWrongAnswerStaysInItsForm(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{Allow: inspect.AllActions()})
	q := f.res.Questions[0]
	for name, c := range map[string]struct {
		status int
		pairs  []string
		want   []string
	}{
		"the check refuses it": {
			http.StatusUnprocessableEntity, []string{"v.OK", "true", "v.Cents", "9000", "v.Note", "all of <it>"},
			[]string{"&lt;9000&gt; is more than 700</pre>", `value="true" required checked`, `value="9000"`, ">all of &lt;it&gt;</textarea>"},
		},
		"the check refuses its JSON": {
			http.StatusUnprocessableEntity, []string{"as", "json", "json", `{"Cents": 9000,   "Note": "mine"}`},
			[]string{"&lt;9000&gt; is more than 700</pre>", "<details open><summary>Answer as JSON", ">{&#34;Cents&#34;: 9000,   &#34;Note&#34;: &#34;mine&#34;}</textarea>"},
		},
		"no number": {
			http.StatusBadRequest, []string{"v.OK", "false", "v.Cents", "many"},
			[]string{"Cents: ", `value="false" checked`, `value="many"`},
		},
	} {
		status, body := f.act(inspect.Answer, "order-1", append([]string{"question", q.ID}, c.pairs...)...)
		if status != c.status {
			t.Errorf("%s: got status %d, want %d", name, status, c.status)
		}
		if strings.Contains(body, "data-pulse") {
			t.Errorf("%s: the page is live, so it would drop the answer", name)
		}
		for _, text := range c.want {
			if !strings.Contains(body, text) {
				t.Errorf("%s: the page lacks %q:\n%s", name, text, body)
			}
		}
	}
	if got := f.stored("order-1"); got.Posted != 0 {
		t.Errorf("a wrong answer is stored: got %+v", got)
	}
	if status, body := f.act(inspect.Answer, "order-1", "question", q.ID, "v.OK", "true", "v.Cents", "600"); status != http.StatusOK {
		t.Errorf("a right answer: got status %d: %s", status, body)
	}
}

func TestBadActions(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{Allow: inspect.AllActions()})
	for _, c := range []struct {
		want  int
		page  string
		pairs []string
	}{
		{http.StatusForbidden, "act", []string{"action", "sing"}},
		{http.StatusBadRequest, "act", []string{"action", "view"}},
		{http.StatusBadRequest, "act", []string{"action", "wake", "id", ""}},
		{http.StatusNotFound, "act", []string{"action", "wake", "id", "order-9"}},
		{http.StatusBadRequest, "act", []string{"action", "replay"}},
		{http.StatusBadRequest, "act", []string{"action", "replay", "at", "x"}},
		{http.StatusBadRequest, "act", []string{"action", "cancel", "reason", strings.Repeat("x", checkpoint.MaxReason+1)}},
		{http.StatusBadRequest, "act", []string{"action", "signal", "signal", "sung", "as", "json", "json", "{}"}},
		{http.StatusBadRequest, "act", []string{"action", "signal", "signal", "paid", "as", "json", "json", `{"Card": 4}`}},
		{http.StatusConflict, "act", []string{"action", "answer", "question", "none"}},
		{http.StatusBadRequest, "act", []string{"action", "answer", "question", f.res.Questions[0].ID, "v.OK", "true", "v.Cents", "many"}},
		{http.StatusBadRequest, "edit", []string{"json", `{"Paid": true}`}},
		{http.StatusBadRequest, "edit", []string{"from", f.ids[0].String(), "json", `[1]`}},
		{http.StatusBadRequest, "edit", []string{"from", f.ids[0].String(), "json", `{"Paid": "yes"}`}},
		{http.StatusBadRequest, "edit", []string{"from", f.ids[0].String(), "json", `{"Nobody": 1}`}},
		{http.StatusBadRequest, "submit", []string{"graph", "shop", "id", " ", "json", "{}"}},
		{http.StatusBadRequest, "submit", []string{"graph", "other", "json", "{}"}},
		{http.StatusBadRequest, "submit", []string{"graph", "shop", "json", `{"Cents": "x"}`}},
		{http.StatusBadRequest, "bulk", []string{"action", "edit"}},
		{http.StatusBadRequest, "bulk", []string{"action", "wake", "confirm", "no"}},
		{http.StatusBadRequest, "job", []string{"job", "none"}},
	} {
		form := url.Values{"id": {"order-1"}}
		for i := 0; i < len(c.pairs); i += 2 {
			form.Set(c.pairs[i], c.pairs[i+1])
		}
		if status, body := f.post(c.page, form); status != c.want {
			t.Errorf("POST %s %q: got status %d, want %d: %s", c.page, c.pairs, status, c.want, body)
		}
	}
	if got := f.stored("order-1"); got.Head != f.ids[0] || got.Posted != 0 {
		t.Errorf("a bad action changed the thread: got %+v", got)
	}
}

func TestAnEditOfAMovedHeadIsAConflict(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		f := newFixture(t, saver, inspect.Options{Allow: inspect.AllActions(), Actor: func(*http.Request) string { return "grace" }})
		for _, page := range []string{"edit?id=order-1", "edit?id=order-1&at=" + f.ids[0].String()} {
			body := f.page(page)
			if field(t, body, "from") != f.ids[0].String() || strings.Contains(body, `name="fork"`) {
				t.Errorf("%s: the form is not that of the head: %s", page, body)
			}
		}
		moved, err := f.app.Thread("order-1").UpdateState(t.Context(), ShopUpdate{})
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"id": {"order-1"}, "from": {f.ids[0].String()}, "at": {f.ids[0].String()}, "json": {`{"Paid": true}`}}
		for range 2 { // sending the form again does not fork either
			status, body := f.post("edit", form)
			if status != http.StatusConflict || !strings.Contains(body, `type="checkbox" name="fork"`) || !strings.Contains(body, `{&#34;Paid&#34;: true}`) {
				t.Errorf("got status %d, want a conflict with the text of the reader: %s", status, body)
			}
			if got := f.stored("order-1").Head; got != moved {
				t.Fatalf("the conflict changed the head: got %s, want %s", got, moved)
			}
		}
		form.Set("fork", "1")
		if status, body := f.post("edit", form); status != http.StatusOK {
			t.Fatalf("the fork: got status %d: %s", status, body)
		}
		snap, err := f.app.Thread("order-1").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if snap.Parent != f.ids[0] || !snap.State.Paid || snap.Metadata["actor"] != "grace" {
			t.Errorf("the fork: got parent %s, paid %v, metadata %v", snap.Parent, snap.State.Paid, snap.Metadata)
		}
		f.has("history?id=order-1", `C21 17 7 0 7 17`) // the lane of the other branch joins
		f.has("edit?id=order-1&at="+f.ids[2].String(), "Edit and fork", `name="fork" value="1"`)
	})
}

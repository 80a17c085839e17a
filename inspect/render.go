package inspect

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// head is the data that all pages share.
type head struct {
	Site  string
	Title string
	Now   time.Time
	Note  string // a report of the last action; empty for none
	Pulse string // the address of the pulse of a live page; empty for a page that is not live
	Beat  string // the pulse when the page was made
	Every int    // meta refresh in seconds; 0 for none
}

func (in *Inspector) head(r *http.Request, title string) head {
	return head{Site: in.opt.Title, Title: title, Now: time.Now(), Note: notes[r.URL.Query().Get("note")]}
}

// notes are the reports of actions, by the parameter of the address. A page shows no other text
// of its address, so nobody can make it show a false report.
var notes = map[string]string{
	"answered":  "The answer is stored. A worker resumes the thread, or the next Resume takes it.",
	"signalled": "The signal is stored.",
	"submitted": "The input is stored. A worker runs it.",
	"woken":     "The thread is due now. A worker runs what has failed or was left. Questions stay open.",
	"resumed":   "A run was started in this process.",
	"replayed":  "The thread has a new branch from that checkpoint. It is due now.",
	"cancelled": "The cancel is stored. A run in progress ends within about a second.",
	"edited":    "The change is stored.",
	"released":  "The version is closed. The next input starts an empty one.",
	"deleted":   "The thread is deleted.",

	// Of graphs, queues and schedules:
	"pause":   "The pause is stored. Within about a second, no worker begins anything more.",
	"unpause": "The pause has ended.",
	"trigger": "The schedule is asked to fire. A worker with the schedules does it.",

	// Of results:
	"done":       "The work of the input is done. This checkpoint is its result.",
	"failed":     "The work of the input has failed. This is its last checkpoint.",
	"ended":      "The work of the input was cancelled. This is its last checkpoint.",
	"late":       "The ExecutionTimeout of the input has passed. This is its last checkpoint.",
	"unfinished": "The work has not ended. Ask for the result again.",
}

// render writes a page. It executes the template first, so that an error makes no half page.
func (in *Inspector) render(w http.ResponseWriter, status int, page string, data any) {
	var b bytes.Buffer
	if err := in.pages.ExecuteTemplate(&b, page, data); err != nil {
		http.Error(w, "inspect: the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the reader is gone if this fails
}

func parsePages() (*template.Template, error) {
	return template.New("").Funcs(funcs()).ParseFS(web, "web/*.html")
}

// ago returns a time relative to now, such as "3 min ago" or "in 2 h".
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	switch {
	case d < -time.Second:
		return "in " + took(-d)
	case d < time.Second:
		return "now"
	}
	return took(d) + " ago"
}

// took returns a duration in its largest unit, such as "1.5 s" or "2 d".
func took(d time.Duration) string {
	number := func(unit time.Duration, name string) string {
		n := float64(d) / float64(unit)
		digits := 0
		if n < 9.95 {
			digits = 1
		}
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', digits, 64), ".0") + " " + name
	}
	switch {
	case d <= 0:
		return "0 s"
	case d.Round(time.Microsecond) < time.Millisecond:
		return number(time.Microsecond, "µs")
	case d.Round(time.Millisecond) < time.Second:
		return number(time.Millisecond, "ms")
	case d.Round(time.Second) < time.Minute:
		return number(time.Second, "s")
	case d.Round(time.Minute) < time.Hour:
		return number(time.Minute, "min")
	case d.Round(time.Hour) < 48*time.Hour:
		return number(time.Hour, "h")
	}
	return number(24*time.Hour, "d")
}

// exact returns a time for the title of an element.
func exact(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// shortID returns the last 8 characters of a checkpoint id, which differ among the checkpoints of
// a thread. The first ones are its time.
func shortID(id checkpoint.ID) string {
	s := id.String()
	return s[max(0, len(s)-8):]
}

// printable returns a text in which every character can be seen. Direction marks and other
// invisible characters of stored data could make one text look like another one.
func printable(s string) string {
	clean := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case clean(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// clip returns the printable beginning of a text, of at most n characters.
func clip(n int, s string) string {
	runes := 0
	for i := range s {
		if runes == n {
			return printable(s[:i]) + "…"
		}
		runes++
	}
	return printable(s)
}

// plural returns "1 thread" or "2 threads".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// redirect sends the reader to another page. The address stays relative, because the handler does
// not know its prefix.
func redirect(w http.ResponseWriter, page string) {
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
}

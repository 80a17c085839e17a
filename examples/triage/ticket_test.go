package main

import (
	"strings"
	"testing"
)

const goodTicket = `{"id":"T-1","from":"a@example.com","lang":"en","subject":" Hello ","body":"x","received":"2026-11-02T08:14:09Z","order":"","attachments":[]}`

func TestReadLinesTakesOneTicketALine(t *testing.T) {
	got, err := readLines(strings.NewReader(goodTicket+"\n\n  "+strings.Replace(goodTicket, "T-1", "T-2", 1)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].ID != "T-1" || got[1].ID != "T-2" || string(got[0].Raw) != goodTicket {
		t.Errorf("got %+v, want T-1 and T-2 with their lines", got)
	}
}

func TestReadLinesNamesTheLineThatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no JSON":         {goodTicket + "\nhello", "f:2: not a ticket"},
		"no id":           {`{"subject":"x"}`, `f:1: id "": want 1 to 64`},
		"a path as id":    {`{"id":"../x"}`, `f:1: id "../x": want 1 to 64`},
		"an id twice":     {goodTicket + "\n" + goodTicket, `f:2: id "T-1" is taken by line 1`},
		"but for case":    {goodTicket + "\n" + strings.Replace(goodTicket, "T-1", "t-1", 1), `f:2: id "t-1" is taken by line 1`},
		"nothing":         {"\n\n", "f: no tickets in it"},
		"an endless line": {`{"id":"` + strings.Repeat("x", longestLine), "token too long"},
	} {
		if _, err := readLines(strings.NewReader(c.in), "f"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that contains %q", name, err, c.want)
		}
	}
}

func TestParseTicketSaysEverythingThatIsWrong(t *testing.T) {
	if got, err := parseTicket([]byte(goodTicket)); err != nil || got.Subject != "Hello" {
		t.Errorf("a good ticket: subject %q, error %v; want Hello, without its spaces", got.Subject, err)
	}
	_, err := parseTicket([]byte(`{"id":"T 1","from":"Bob <b@example.com>","body":" ","attachments":[{"name":"a","bytes":-1}]}`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"id:", "from:", "body:", "received:", "attachments[0]:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %q", err, want)
		}
	}
	if _, err := parseTicket([]byte(`{"id":"T-1","prio":1}`)); err == nil || !strings.Contains(err.Error(), "prio") {
		t.Errorf("an unknown field: error %v, want one that names it", err)
	}
}

func FuzzParseTicket(f *testing.F) {
	f.Add([]byte(goodTicket))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseTicket(raw)
		if err == nil && (!ticketID.MatchString(got.ID) || got.Received.IsZero() || got.Subject+got.Body == "") {
			t.Errorf("parseTicket(%q) let %+v pass", raw, got)
		}
	})
}

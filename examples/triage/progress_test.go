package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// clock returns a clock that advances by step with each call.
func clock(step time.Duration) func() time.Time {
	now := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(step)
		return now
	}
}

func reports() []Report {
	return []Report{
		{Ticket: "T-2", Standing: Waiting, State: State{Refund: Money{"EUR", 500}, Ticket: Ticket{Subject: "Money"}}},
		{Ticket: "T-1", Standing: Finished, State: State{Outcome: Replied}},
		{Ticket: "T-3", Standing: Failed, Err: errors.New("no such thing")},
	}
}

func TestProgressIsALineATicketWhereNobodyLooks(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false, 3, clock(time.Second))
	for _, r := range reports() {
		p.tell(r)
	}
	p.end()
	want := "1/3 T-2 waiting: may EUR 5.00 be refunded?\n2/3 T-1 finished: replied\n3/3 T-3 failed: no such thing\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestProgressWritesOneLineOverOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true, 3, clock(60*time.Millisecond))
	for _, r := range reports() {
		p.tell(r)
	}
	p.end()
	if got := out.String(); strings.Count(got, "\n") != 1 || strings.Count(got, "\r\x1b[K") != 3 ||
		!strings.Contains(got, "3/3 tickets, 8/s") || !strings.HasSuffix(got, "/s, 1 waiting for approval, 1 failed\n") {
		t.Errorf("got %q", got)
	}
}

func TestProgressDoesNotFlicker(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true, 1000, clock(time.Millisecond))
	for range 1000 {
		p.tell(Report{Ticket: "T-1", Standing: Finished})
	}
	if n := strings.Count(out.String(), "\r"); n < 2 || n > 1000/20 || !strings.Contains(out.String(), "1000/1000") {
		t.Errorf("1000 reports in a second or two drew %d lines, the last ...%q", n, out.String()[max(0, out.Len()-80):])
	}
}

func TestSummaryCountsAndNamesWhatNeedsALook(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&bytes.Buffer{}, false, 3, clock(time.Second))
	for _, r := range reports() {
		p.tell(r)
	}
	if err := writeSummary(&out, reports(), p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"finished  1  1 replied", "waiting", "T-2  EUR 5.00  Money", "T-3  no such thing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

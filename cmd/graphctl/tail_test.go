package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestTailPrintsEachCheckpointOnce looks before and after each change of a thread.
func TestTailPrintsEachCheckpointOnce(t *testing.T) {
	ctx := context.Background()
	s := memory.New()
	g, err := desk.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{out: &out, err: &out, format: "jsonl", now: time.Now, since: time.Since}
	one, many := newFollower(a, s, "order-1"), newFollower(a, s, "")
	step := func(args ...string) {
		t.Helper()
		if len(args) == 0 {
			return
		}
		if err := deskStep(ctx, g, args); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		step      []string
		one, many string
	}{
		{nil, "", ""},
		{[]string{"start", "order-1", "500"}, "waiting/1 waiting/2 waiting/3", "waiting/-"},
		{nil, "", ""},
		{[]string{"approve", "order-1"}, "waiting/5", "waiting/-"},
		{[]string{"release", "order-1"}, "gone", "gone"},
		{[]string{"start", "order-1", "0"}, "done/1 done/2 done/3 done/4", "done/-"},
	} {
		step(c.step...)
		for _, f := range []struct {
			name string
			f    *follower
			want string
		}{{"one thread", one, c.one}, {"many threads", many, c.many}} {
			out.Reset()
			if _, err := f.f.poll(ctx); err != nil {
				t.Fatal(err)
			}
			if got := events(t, out.String()); got != f.want {
				t.Errorf("%v, %s: got %q, want %q", c.step, f.name, got, f.want)
			}
		}
	}
}

func newFollower(a *app, s checkpoint.Saver, one string) *follower {
	return &follower{a: a, s: s, f: &tailFlags{lines: 10}, one: one, seen: make(map[string]checkpoint.Thread), l: a.list()}
}

// events returns the statuses and numbers of checkpoints in the lines of tail.
func events(t *testing.T, lines string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		var e eventJSON
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Gone:
			all = append(all, "gone")
		case e.Checkpoint == nil:
			all = append(all, e.Status+"/-")
		default:
			all = append(all, fmt.Sprintf("%s/%d", e.Status, e.Checkpoint.Seq))
		}
	}
	return strings.Join(all, " ")
}

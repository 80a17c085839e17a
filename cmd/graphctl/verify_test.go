package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// busySaver changes a thread after its versions were listed, and before they are exported.
type busySaver struct {
	checkpoint.Saver

	change func(thread string, version int) error
	wrong  int // is added to the listed number of records
}

func (s *busySaver) Versions(ctx context.Context, thread string) ([]checkpoint.Version, error) {
	all, err := s.Saver.Versions(ctx, thread)
	for i := range all {
		all[i].Records += s.wrong
	}
	return all, err
}

func (s *busySaver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	if err := s.change(thread, version); err != nil {
		return func(yield func(checkpoint.ExportItem, error) bool) { yield(checkpoint.ExportItem{}, err) }
	}
	return s.Saver.Export(ctx, thread, version)
}

// TestVerifyAllowsChanges changes threads while they are verified.
func TestVerifyAllowsChanges(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		change func(s checkpoint.Saver, app *desk.Graph, thread string, version int) error
		wrong  int
		want   string // of the problems; empty for none
	}{
		{"a commit", func(_ checkpoint.Saver, app *desk.Graph, thread string, version int) error {
			if version == 1 {
				return nil
			}
			return deskStep(ctx, app, []string{"approve", thread})
		}, 0, ""},
		{"a release", func(_ checkpoint.Saver, app *desk.Graph, thread string, version int) error {
			if version == 1 {
				return nil
			}
			return deskStep(ctx, app, []string{"release", thread})
		}, 0, ""},
		{"a deletion", func(s checkpoint.Saver, _ *desk.Graph, thread string, _ int) error { return s.Delete(ctx, thread) }, 0, ""},
		{"the deletion of an old version", func(s checkpoint.Saver, _ *desk.Graph, thread string, _ int) error {
			_, err := s.Prune(ctx, thread, checkpoint.Retention{Released: -1})
			return err
		}, 0, ""},
		{"nothing, but the list is wrong", func(checkpoint.Saver, *desk.Graph, string, int) error { return nil }, 1, "but 4 are listed"},
		{"nothing, but a version is missing", func(_ checkpoint.Saver, _ *desk.Graph, thread string, version int) error {
			if version == 1 {
				return &missingError{"no version"}
			}
			return nil
		}, 0, "the version is listed, but: no version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := memory.New()
			g, err := desk.New(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"start", "order-1", "0"}, {"release", "order-1"}, {"start", "order-1", "500"}} {
				if err := deskStep(ctx, g, args); err != nil {
					t.Fatal(err)
				}
			}
			busy := &busySaver{Saver: s, wrong: c.wrong, change: func(thread string, version int) error { return c.change(s, g, thread, version) }}
			var out, log bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, err: &log, env: os.Getenv, now: time.Now, since: time.Since, format: "jsonl"}
			err = a.verify(ctx, busy, nil, &selection{all: true}, false)
			if c.want == "" && (err != nil || out.Len() > 0) {
				t.Errorf("got %v and\n%s\nwant no problem", err, out.String())
			}
			if c.name != "a deletion" && !strings.Contains(log.String(), " 2 versions,") {
				t.Errorf("got %s, want 2 versions", log.String())
			}
			if c.want != "" && (!errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(out.String(), c.want)) {
				t.Errorf("got %v and\n%s\nwant the problem %q", err, out.String(), c.want)
			}
		})
	}
}

package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestImporterContinuesAfterACrash finds a released version that was imported and not yet released
// in the target.
func TestImporterContinuesAfterACrash(t *testing.T) {
	ctx := context.Background()
	from, to := memory.New(), memory.New()
	g, err := desk.New(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"start", "order-1", "0"}, {"release", "order-1"}, {"start", "order-1", "500"}} {
		if err := deskStep(ctx, g, args); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkpoint.Copy(ctx, from, "order-1", 1, to, "order-1"); err != nil {
		t.Fatal(err)
	}
	p := &progress{}
	in := &operate.Importer{To: to, Totals: &p.Totals}
	versions, err := versionsOf(ctx, from, "order-1", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if err := in.Version(ctx, v, archive.Items(ctx, from, v)); err != nil {
			t.Fatal(err)
		}
	}
	if p.Versions != 1 || p.Already != 1 {
		t.Errorf("got %d new versions and %d there already, want 1 and 1", p.Versions, p.Already)
	}
	got, err := to.Versions(ctx, "order-1")
	if err != nil || len(got) != 2 {
		t.Fatalf("got versions %v, %v; want 2", got, err)
	}
	for i := range got {
		if got[i].Head != versions[i].Head || got[i].Released.IsZero() != versions[i].Released.IsZero() {
			t.Errorf("version %d: got %+v, want %+v", i+1, got[i], versions[i])
		}
	}
}

// TestProgressOfOneThread copies one thread while a second passes before each item.
func TestProgressOfOneThread(t *testing.T) {
	from := memory.New()
	g, err := desk.New(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := deskStep(t.Context(), g, []string{"start", "order-1", "500"}); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(0, 0)
	var log strings.Builder
	a := &app{out: io.Discard, err: &log, format: "table", now: func() time.Time { at = at.Add(time.Second); return at }}
	if err := a.copy(t.Context(), from, memory.New(), []string{"order-1"}, &transferFlags{progress: true}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range regexp.MustCompile(`(\d+ threads?), .*, (\d+ records?), `).FindAllStringSubmatch(log.String(), -1) {
		if text := line[1] + ", " + line[2]; !slices.Contains(got, text) {
			got = append(got, text)
		}
	}
	want := []string{"0 threads, 0 records", "0 threads, 1 record", "0 threads, 2 records", "0 threads, 3 records", "1 thread, 3 records"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

func TestWritesAreSyncedBeforeTheyAreAcknowledged(t *testing.T) {
	s := open(t, t.TempDir())
	var steps []string
	file.Faults(s, func(step string) error {
		steps = append(steps, step)
		return nil
	})
	for i, a := range story(t) {
		want := "write, sync"
		switch a.name {
		case "open": // the first segment
			want = "write, sync, syncDir, write, sync"
		case "copy":
			want = "" // several writes, which are synced one by one
		}
		steps = nil
		if err := a.call(t.Context(), s); err != nil {
			t.Fatalf("act %d, %s: %v", i, a.name, err)
		}
		if got := count(steps); want != "" && got != want {
			t.Errorf("%s: got steps %q, want %q", a.name, got, want)
		}
	}
}

// count returns steps as a sentence.
func count(steps []string) string {
	var said []string
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n] == steps[0] {
			n++
		}
		if n == 1 {
			said = append(said, steps[0])
		} else {
			said = append(said, fmt.Sprintf("%d %ss", n, steps[0]))
		}
		steps = steps[n:]
	}
	return strings.Join(said, ", ")
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	f := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(f, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", f, filepath.Join(f, "below")} {
		if s, err := file.Open(dir); err == nil {
			t.Errorf("open %q: got no error", dir)
			_ = s.Close()
		} else if !strings.HasPrefix(err.Error(), "file: open") {
			t.Errorf("open %q: got %q, want it to start with the package and what it did", dir, err)
		}
	}
	deep := filepath.Join(t.TempDir(), "a", "b")
	open(t, deep)
	if info, err := os.Stat(deep); err != nil || !info.IsDir() {
		t.Errorf("open did not make the folder: %v", err)
	}
}

// A step costs what it stores, not what is stored already.
func TestBytesWrittenAreThoseOfTheStep(t *testing.T) {
	s := open(t, t.TempDir())
	written := 0
	file.Written(s, &written)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	fence := a.Records[0].ID
	for i := range 2000 {
		a = step(t, a, fence)
		a.Records[0].Snapshot = false
		a.Records[0].Payload = []byte(strings.Repeat("x", 200))
		written = 0
		mustAppend(t, s, a)
		if written > 200+150 {
			t.Fatalf("step %d of 200 bytes wrote %d, want at most 150 more", i, written)
		}
	}
}

func TestStepAllocatesTheSameWhateverCameBefore(t *testing.T) {
	s := open(t, t.TempDir())
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	fence := a.Records[0].ID
	measure := func() float64 {
		return testing.AllocsPerRun(50, func() {
			a = step(t, a, fence)
			a.Records[0].Snapshot = false
			mustAppend(t, s, a)
		})
	}
	early := measure()
	for range 2000 {
		a = step(t, a, fence)
		a.Records[0].Snapshot = false
		mustAppend(t, s, a)
	}
	if late := measure(); late > early+20 {
		t.Errorf("allocations of a step: %.0f at first, %.0f after 2000 steps; want about the same", early, late)
	}
}

func TestNoSyncSyncsNothing(t *testing.T) {
	for _, c := range []struct {
		opts  []file.Option
		syncs bool
	}{{nil, true}, {[]file.Option{file.NoSync()}, false}} {
		s, err := file.Open(t.TempDir(), c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := file.SyncClosed(s, f); (err != nil) != c.syncs {
			t.Errorf("%d options: sync of a closed file: got %v, want an error: %t", len(c.opts), err, c.syncs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStrangeFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	names := []string{"README", "0000000000.saver", "1.saver", "00000000001.saver", "x.saver", "thread-x.saver"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("something"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	mustAppend(t, s, opening(t, "t", checkpoint.ID{}))
	n := 0
	for _, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("threads: got %d, want 1", n)
	}
	for _, name := range names {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "something" {
			t.Errorf("%s: got %q, %v; want it unchanged", name, b, err)
		}
	}
}

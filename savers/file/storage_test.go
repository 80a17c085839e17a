package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

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
		want := map[string]string{
			"open":                    "write, sync, syncDir",
			"put":                     "write, sync",
			"commit":                  "write, sync",
			"commit and end":          "write, sync",
			"copy":                    "4 writes, sync, rename, syncDir",
			"release":                 "write, sync, write, sync, syncDir, rename, syncDir, rename, syncDir",
			"open the second version": "write, sync",
			"end with a release":      "write, sync, write, sync, syncDir, rename, syncDir, rename, syncDir",
			"open the third version":  "write, sync",
			"prune versions":          "remove, syncDir",
		}[a.name]
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

func TestNames(t *testing.T) {
	for id, want := range map[string]string{
		"plain_1":                "thread-plain_1",
		"A":                      "thread-%41",
		"a-v1":                   "thread-a%2dv1",
		"../x":                   "thread-%2e%2e%2fx",
		"\x00\xff":               "thread-%00%ff",
		strings.Repeat("a", 128): "thread-" + strings.Repeat("a", 128),
	} {
		got := file.BaseName(id)
		if got != want {
			t.Errorf("name of %q: got %q, want %q", id, got, want)
		}
		if base, back, ok := file.ParseName(got + ".saver"); !ok || back != id || base != got {
			t.Errorf("name %q: parsed as %q, %t; want %q", got, back, ok, id)
		}
	}
	for _, id := range []string{strings.Repeat("a", 129), strings.Repeat("\xff", 50)} {
		if got := file.BaseName(id); !strings.HasPrefix(got, "thread-~") || len(got) != len("thread-~")+64 {
			t.Errorf("name of an id of %d bytes: got %q, want a hash", len(id), got)
		}
	}
	for _, name := range []string{
		"", "x", "thread-.saver", "thread-a", "thread-a.lease", "thread-a-v1.saver", "thread-A.saver", "thread-%61.saver",
		"thread-%4.saver", "thread-%4A.saver", "thread-~00.saver", "thread-a b.saver", "thread-%zz.saver",
	} {
		if _, id, ok := file.ParseName(name); ok {
			t.Errorf("name %q: taken for thread %q, want none", name, id)
		}
	}
}

func TestStrangeFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README", "thread-A.saver", "thread-a copy.saver", "thread-.saver", "thread-x-v1.saver"} {
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

func TestOpenFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	s, err := file.Open(dir, file.OpenFiles(4))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var runs []checkpoint.Append
	for i := range 20 {
		a := opening(t, fmt.Sprint("idle ", i), checkpoint.ID{})
		a.End = true
		mustAppend(t, s, a)
		if i < 10 {
			held := opening(t, fmt.Sprint("held ", i), checkpoint.ID{})
			held.Lease = time.Hour
			mustAppend(t, s, held)
			runs = append(runs, held)
		}
	}
	if got := file.OpenVolumes(s); got > 4+len(runs) {
		t.Errorf("open files: got %d, want at most 4 and the %d that are leased", got, len(runs))
	}
	for _, a := range runs {
		mustAppend(t, s, step(t, a, a.Records[0].ID))
	}
	for i := range 20 {
		if chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: fmt.Sprint("idle ", i)}); err != nil || chain.Chained != 0 {
			t.Errorf("thread %d: got %d records, %v; want 1", i, chain.Chained+1, err)
		}
	}
}

// long makes a thread of some steps that no run holds.
func long(tb testing.TB, s checkpoint.Saver, thread string, steps int) {
	tb.Helper()
	a := opening(tb, thread, checkpoint.ID{})
	fence := a.Records[0].ID
	for n := 1; n < steps; n++ {
		next := step(tb, a, fence)
		if len(a.Records) == 100 { // the check of an Append is quadratic in its records
			mustAppend(tb, s, a)
			a = next
			continue
		}
		a.Records = append(a.Records, next.Records[0])
	}
	a.End = true
	mustAppend(tb, s, a)
}

func TestBytesOfIndexesAreBounded(t *testing.T) {
	const room, threads, steps = 1 << 20, 12, 500
	dir := t.TempDir()
	writer := open(t, dir)
	for i := range threads {
		long(t, writer, fmt.Sprint("thread ", i), steps)
	}
	long(t, writer, "large", 8*steps)
	s, err := file.Open(dir, file.IndexBytes(room))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range 3 * threads {
		thread := fmt.Sprint("thread ", i%threads)
		if chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread}); err != nil || chain.Last.Step != steps-1 {
			t.Fatalf("%s: got %d records, %v; want step %d", thread, chain.Chained+1, err, steps-1)
		}
		if held, files := file.HeldBytes(s), file.OpenVolumes(s); held > room || held < steps*200 || files > threads/2 {
			t.Fatalf("after %d loads: %d bytes of %d files, want at most %d", i+1, held, files, room)
		}
	}
	for range 2 {
		if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "large"}); err != nil {
			t.Fatal(err)
		}
		if held, files := file.HeldBytes(s), file.OpenVolumes(s); held < 8*steps*200 || files != 1 {
			t.Errorf("one that is larger than the room: %d bytes of %d files, want it alone", held, files)
		}
	}
}

// The counted memory is about the memory in use.
func TestBytesOfIndexesAreThoseOfTheHeap(t *testing.T) {
	const steps = 20000
	dir := t.TempDir()
	long(t, open(t, dir), "t", steps)
	s := open(t, dir)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // it fits
	}
	before := heap()
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	taken, held := heap()-before, file.HeldBytes(s)
	t.Logf("%d bytes taken, %d counted, a record", taken/steps, held/steps)
	if held < taken/2 || held > 2*taken {
		t.Errorf("%d bytes taken, %d counted", taken, held)
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
		if written > 200+70 {
			t.Fatalf("step %d of 200 bytes wrote %d, want at most 70 more", i, written)
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
	if late := measure(); late > early+2 {
		t.Errorf("allocations of a step: %.0f at first, %.0f after 2000 steps; want the same", early, late)
	}
}

// Of the records between the snapshot and the head, a load decodes only the payloads.
func TestLoadMakesNoRecords(t *testing.T) {
	s := open(t, t.TempDir())
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	fence := a.Records[0].ID
	for range 1000 {
		a = step(t, a, fence)
		a.Records[0].Snapshot, a.Records[0].Due = false, []checkpoint.Task{{Node: "node"}}
		a.Records[0].Meta = map[string]string{"key": "value"}
		mustAppend(t, s, a)
	}
	got := testing.AllocsPerRun(10, func() {
		c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil || c.Chained != 1000 || len(c.Last.Due) != 1 {
			t.Fatalf("got %d records and %d due, %v; want 1000 and 1", c.Chained, len(c.Last.Due), err)
		}
	})
	if got > 100 {
		t.Errorf("a load of 1000 records allocates %v times, want at most 100", got)
	}
}

func TestListingDoesNotReadWhatHasNotChanged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 10 {
		a := opening(t, fmt.Sprint("thread ", i), checkpoint.ID{})
		a.End = true
		mustAppend(t, s, a)
	}
	past := time.Now().Add(-time.Hour)
	for i := range 10 {
		if err := os.Chtimes(filepath.Join(dir, file.BaseName(fmt.Sprint("thread ", i))+".saver"), time.Time{}, past); err != nil {
			t.Fatal(err)
		}
	}
	lister := open(t, dir)
	list := func() (threads []checkpoint.Thread) {
		for thread, err := range lister.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			threads = append(threads, thread)
		}
		return threads
	}
	first := list()
	// A file that is read again would be found damaged.
	path := filepath.Join(dir, file.BaseName("thread 3")+".saver")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, info.Size()-1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if second := list(); len(second) != len(first) || len(second) != 10 {
		t.Errorf("listed %d threads, then %d; want 10 twice", len(first), len(second))
	}
}

func TestLeaseFilesGoWithTheirRuns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, s, a)
	lease := filepath.Join(dir, "leases", "thread-t-"+a.Records[0].ID.String())
	if _, err := os.Stat(lease); err != nil {
		t.Errorf("under a run: %v", err)
	}
	if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: a.Records[0].ID, End: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lease); !os.IsNotExist(err) {
		t.Errorf("after the run: got %v, want no file", err)
	}
}

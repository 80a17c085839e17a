package file_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

func open(tb testing.TB, dir string) *file.Saver {
	tb.Helper()
	s, err := file.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// openToo opens a folder that is open already, so that no lease of a dead process ends.
func openToo(t *testing.T, dir string) *file.Saver {
	t.Helper()
	openStore(t, dir)
	return open(t, dir)
}

func newID(tb testing.TB) checkpoint.ID {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// opening is an opening Append of one snapshot.
func opening(tb testing.TB, thread string, after checkpoint.ID) checkpoint.Append {
	tb.Helper()
	id := newID(tb)
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "the test"}, Status: checkpoint.Running,
		Records: []checkpoint.Record{{
			ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Created: created, Snapshot: true,
			Payload: []byte("\x80"), Due: []checkpoint.Task{{Node: "first"}},
		}},
	}
}

// step is an Append of one superstep after another Append's last record.
func step(tb testing.TB, before checkpoint.Append, fence checkpoint.ID) checkpoint.Append {
	tb.Helper()
	last := before.Records[len(before.Records)-1]
	id := newID(tb)
	return checkpoint.Append{
		Thread: before.Thread, After: last.ID, Fence: fence,
		Records: []checkpoint.Record{{
			ID: id, Parent: last.ID, Base: id, Line: last.Line, Commits: last.Base, Step: last.Step + 1, Source: checkpoint.Loop,
			Created: last.Created.Add(time.Second), Due: []checkpoint.Task{{Node: "node"}},
			Payload: fmt.Appendf(nil, "payload %d", last.Step+1), Snapshot: true,
		}},
	}
}

// contents returns everything that a saver shows of its threads. Equal contents give equal text.
func contents(tb testing.TB, s checkpoint.Saver) (string, error) {
	tb.Helper()
	var b strings.Builder
	for thread, err := range s.Threads(tb.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "listed %s %d %s %s %d\n", thread.ID, thread.Version, thread.Status, thread.Head, len(thread.Questions))
	}
	for _, id := range []string{"t", "other", "new"} {
		versions, err := s.Versions(tb.Context(), id)
		if err != nil {
			return "", err
		}
		for _, refused := range []bool{false, true} {
			mail, err := s.Mail(tb.Context(), checkpoint.MailQuery{Thread: id, Handled: refused})
			if err != nil {
				return "", err
			}
			for _, m := range mail {
				fmt.Fprintf(&b, "message %d of %s: %s %s %q, refused %q\n", m.Number, id, m.ID, m.Kind, digest(m.Payload), m.Refused)
			}
		}
		for _, v := range versions {
			fmt.Fprintf(&b, "version %d of %s, released %t, %s\n", v.Number, id, !v.Released.IsZero(), v.Status)
			for item, err := range s.Export(tb.Context(), id, v.Number) {
				if err != nil {
					return "", err
				}
				if item.Record != nil {
					item.Record.Payload = digest(item.Record.Payload)
					fmt.Fprintf(&b, "%q %+v\n", item.Record.Namespace, item.Record.Record)
				}
				if item.Write != nil {
					item.Write.Payload = digest(item.Write.Payload)
					fmt.Fprintf(&b, "%+v\n", *item.Write)
				}
			}
		}
	}
	return b.String(), nil
}

// digest returns a short text that differs for different payloads.
func digest(payload []byte) []byte {
	if len(payload) < 100 {
		return payload
	}
	sum := sha256.Sum256(payload)
	return sum[:]
}

func mustContents(tb testing.TB, s checkpoint.Saver) string {
	tb.Helper()
	text, err := contents(tb, s)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func mustAppend(tb testing.TB, s checkpoint.Saver, a checkpoint.Append) {
	tb.Helper()
	if _, err := s.Append(tb.Context(), a); err != nil {
		tb.Fatalf("append: %v", err)
	}
}

func result(base checkpoint.ID, task string) []checkpoint.Write {
	return []checkpoint.Write{
		{Base: base, Task: task, Kind: checkpoint.Result, Payload: []byte("result of " + task)},
		{Base: base, Task: task, Kind: checkpoint.Question, Name: "q", Payload: []byte("question")},
	}
}

const segmentFile = "0000000001.saver"

// small makes a thread of three frames after the header. again repeats its last write on a copy.
// before and after are the contents before and after that write.
func small(tb testing.TB) (whole []byte, lastFrame int, again func(s checkpoint.Saver) error, before, after string) {
	tb.Helper()
	dir := tb.TempDir()
	s := open(tb, dir)
	a := opening(tb, "t", checkpoint.ID{})
	mustAppend(tb, s, a)
	fence := a.Records[0].ID
	if _, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{Thread: "t", Fence: fence, Writes: result(fence, "a")}); err != nil {
		tb.Fatal(err)
	}
	before = mustContents(tb, s)
	start, err := os.ReadFile(filepath.Join(dir, segmentFile))
	if err != nil {
		tb.Fatal(err)
	}
	next := step(tb, a, fence)
	mustAppend(tb, s, next)
	after = mustContents(tb, s)
	if whole, err = os.ReadFile(filepath.Join(dir, segmentFile)); err != nil {
		tb.Fatal(err)
	}
	again = func(s checkpoint.Saver) error {
		_, err := s.Append(tb.Context(), next)
		return err
	}
	return whole, len(start), again, before, after
}

// place writes a segment into a new folder, and returns its path.
func place(tb testing.TB, b []byte) (dir, path string) {
	tb.Helper()
	dir = tb.TempDir()
	path = filepath.Join(dir, segmentFile)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir, path
}

func TestTornLastFrameIsAsIfItHadNotBeen(t *testing.T) {
	whole, lastFrame, again, before, after := small(t)
	for cut := lastFrame; cut < len(whole); cut++ {
		for name, b := range map[string][]byte{
			"cut":             whole[:cut],
			"zeros to an end": append(bytes.Clone(whole[:lastFrame]), make([]byte, cut-lastFrame)...),
		} {
			dir, path := place(t, b)
			s := openToo(t, dir)
			if got := mustContents(t, s); got != before {
				t.Fatalf("%s at %d: got\n%s\nwant\n%s", name, cut, got, before)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
				t.Fatalf("%s at %d: a reader changed the file", name, cut)
			}
			if err := again(s); err != nil {
				t.Fatalf("%s at %d: append: %v", name, cut, err)
			}
			if got := mustContents(t, s); got != after {
				t.Fatalf("%s at %d, append again: got\n%s\nwant\n%s", name, cut, got, after)
			}
			if got := mustContents(t, open(t, dir)); got != after {
				t.Fatalf("%s at %d, opened again: got\n%s\nwant\n%s", name, cut, got, after)
			}
		}
	}
}

func TestTornHeaderIsAnEmptyFolder(t *testing.T) {
	whole, _, _, _, _ := small(t)
	for cut := range 49 {
		dir, _ := place(t, whole[:cut])
		s := open(t, dir)
		if got := mustContents(t, s); got != "" {
			t.Fatalf("cut at %d: got %q, want no thread", cut, got)
		}
		mustAppend(t, s, opening(t, "t", checkpoint.ID{}))
		if got := mustContents(t, open(t, dir)); got == "" {
			t.Fatalf("cut at %d: the thread is lost", cut)
		}
	}
}

// inValue reports whether a byte of a segment is in a value.
func inValue(b []byte, at int) bool {
	_, values := file.Frames(b)
	for _, v := range values {
		if v[0] <= at && at < v[1] {
			return true
		}
	}
	return false
}

// Damage outside of values refuses the whole folder. Damage in a value fails the reads of its row,
// unless a later row is in its place. Damage in the last frame looks like a write in part: see
// TestBadLastFrameIsTorn.
func TestDamageIsFound(t *testing.T) {
	whole, lastFrame, again, _, after := small(t)
	superseded := 0
	for at := range whole[:lastFrame] {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[at] ^= 1 << bit
			dir, path := place(t, b)
			s, err := file.Open(dir)
			if inValue(whole, at) {
				if err != nil {
					t.Fatalf("bit %d of byte %d: open: %v", bit, at, err)
				}
				got, err := contents(t, s)
				if err == nil && got == after {
					superseded++
				} else if !errors.Is(err, checkpoint.ErrDamaged) {
					t.Fatalf("bit %d of byte %d: reading: got %v, want an ErrDamaged", bit, at, err)
				}
				mustAppend(t, s, opening(t, "other", checkpoint.ID{}))
				_ = s.Close()
				continue
			}
			if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "byte ") && !strings.Contains(err.Error(), "format ") {
				t.Fatalf("bit %d of byte %d: open: got %v, want an ErrDamaged that names a byte of %s", bit, at, err, path)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
				t.Fatalf("bit %d of byte %d: a damaged file was changed", bit, at)
			}
		}
	}
	values := 0
	for at := range whole[:lastFrame] {
		if inValue(whole, at) {
			values += 8
		}
	}
	if superseded == 0 || superseded > values/2 {
		t.Errorf("%d of %d altered bits of values were in rows that nobody reads", superseded, values)
	}
	dir, _ := place(t, whole)
	s := open(t, dir)
	if got := mustContents(t, s); got != after {
		t.Fatalf("undamaged: got\n%s\nwant\n%s", got, after)
	}
	if err := again(s); err != nil {
		t.Errorf("undamaged: append: %v", err)
	}
}

func TestBadLastFrameIsTorn(t *testing.T) {
	whole, lastFrame, again, before, after := small(t)
	for at := lastFrame; at < len(whole); at++ {
		b := bytes.Clone(whole)
		b[at] ^= 0x55
		dir, path := place(t, b)
		s := openToo(t, dir)
		if got := mustContents(t, s); got != before {
			t.Fatalf("byte %d: got\n%s\nwant\n%s", at, got, before)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
			t.Fatalf("byte %d: a reader changed the file", at)
		}
		if err := again(s); err != nil {
			t.Fatalf("byte %d: append: %v", at, err)
		}
		if got := mustContents(t, s); got != after {
			t.Fatalf("byte %d, append again: got\n%s\nwant\n%s", at, got, after)
		}
	}
}

// A payload may hold bytes that look like a frame, such as a copy of the folder's own file.
func TestPayloadIsNoFrame(t *testing.T) {
	whole, _, _, before, after := small(t)
	dir, path := place(t, whole)
	s := openToo(t, dir)
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	a := opening(t, "t", chain.Head)
	a.Open.TakeOver = true
	a.Records[0].Payload = append(make([]byte, len(whole)), whole...)
	mustAppend(t, s, a)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(whole)+50] ^= 1 // in the value, so that the frame is torn
	dir, _ = place(t, b)
	if got := mustContents(t, openToo(t, dir)); got != after || got == before {
		t.Errorf("a torn frame that holds frames: got\n%s\nwant\n%s", got, after)
	}
}

func TestDamagedThreadCanBeDeleted(t *testing.T) {
	whole, _, _, _, _ := small(t)
	whole[bytes.Index(whole, []byte("question"))] ^= 1
	dir, _ := place(t, whole)
	s := open(t, dir)
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", At: firstID(t, s)}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("load: got %v, want an ErrDamaged", err)
	}
	ended := checkpoint.PutWrites{Thread: "t", Fence: firstID(t, s), End: true}
	if _, err := s.PutWrites(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, opening(t, "t", checkpoint.ID{}))
}

// firstID returns the id of the first record of thread t.
func firstID(tb testing.TB, s checkpoint.Saver) (id checkpoint.ID) {
	tb.Helper()
	for r, err := range s.History(tb.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		id = r.ID
	}
	return id
}

// must returns a value without an error.
func must[V any](v V, err error) func(tb testing.TB) V {
	return func(tb testing.TB) V {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func TestDamageUnderAnOpenFileIsFound(t *testing.T) {
	whole, _, _, _, _ := small(t)
	dir, path := place(t, whole)
	s := open(t, dir)
	mustContents(t, s)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{'P'}, int64(bytes.Index(whole, []byte("payload 1")))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("load: got %v, want an ErrDamaged", err)
	}
}

func TestSegmentOfAnotherNumberIsDamage(t *testing.T) {
	whole, _, _, _, _ := small(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000000002.saver"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(dir); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("open: got %v, want an ErrDamaged", err)
	}
}

// act is one call of the story in the fault tests.
type act struct {
	name string
	call func(ctx context.Context, s checkpoint.Saver) error
}

// story is a life of two threads: runs, writes, a release, a fork of a second version, a copy, a
// prune, a deletion.
func story(tb testing.TB) []act {
	tb.Helper()
	return storyOf(tb, 0)
}

// storyOf is story with payloads that are larger by some bytes.
func storyOf(tb testing.TB, larger int) []act {
	tb.Helper()
	bulk := make([]byte, larger)
	for i := range bulk {
		bulk[i] = byte(i * i >> 8)
	}
	more := func(payload []byte) []byte { return append(payload, bulk...) }
	first := opening(tb, "t", checkpoint.ID{})
	fence := first.Records[0].ID
	second := step(tb, first, fence)
	third := step(tb, second, fence)
	third.End, third.Status = true, checkpoint.Done
	appends := func(a checkpoint.Append) func(ctx context.Context, s checkpoint.Saver) error {
		a.Records[0].Payload = more(a.Records[0].Payload)
		return func(ctx context.Context, s checkpoint.Saver) error {
			_, err := s.Append(ctx, a)
			return err
		}
	}
	later := opening(tb, "t", checkpoint.ID{})
	last := step(tb, later, later.Records[0].ID)
	last.End, last.Release = true, true
	final := opening(tb, "t", checkpoint.ID{})
	final.End = true
	return []act{
		{"open", appends(first)},
		{"put", func(ctx context.Context, s checkpoint.Saver) error {
			writes := result(fence, "a")
			writes[0].Payload = more(writes[0].Payload)
			_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, Writes: writes})
			return err
		}},
		{"post", func(ctx context.Context, s checkpoint.Saver) error {
			return posts(ctx, s, "t", more(nil), checkpoint.SignalMessage, checkpoint.InputMessage, checkpoint.SignalMessage)
		}},
		{"take", func(ctx context.Context, s checkpoint.Saver) error {
			h := checkpoint.Handled{Take: []uint64{1}, Seen: 2}
			_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, Messages: h})
			return err
		}},
		{"post to a new thread", func(ctx context.Context, s checkpoint.Saver) error {
			return posts(ctx, s, "new", more(nil), checkpoint.InputMessage)
		}},
		{"commit", appends(second)},
		{"commit and end", appends(third)},
		{"copy", func(ctx context.Context, s checkpoint.Saver) error {
			err := checkpoint.Copy(ctx, s, "t", 1, s, "other")
			if errors.Is(err, checkpoint.ErrConflict) {
				return nil // an earlier call did it
			}
			return err
		}},
		{"prune", func(ctx context.Context, s checkpoint.Saver) error {
			_, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 2})
			return err
		}},
		{"release", func(ctx context.Context, s checkpoint.Saver) error {
			_, err := s.Release(ctx, "t", third.Records[0].ID)
			if errors.Is(err, checkpoint.ErrNotFound) {
				return nil
			}
			return err
		}},
		{"open the second version", appends(later)},
		{"end with a release", appends(last)},
		{"open the third version", appends(final)},
		{"prune versions", func(ctx context.Context, s checkpoint.Saver) error {
			_, err := s.Prune(ctx, "t", checkpoint.Retention{Released: 1})
			return err
		}},
		{"delete", func(ctx context.Context, s checkpoint.Saver) error { return s.Delete(ctx, "other") }},
		{"delete the new thread", func(ctx context.Context, s checkpoint.Saver) error { return s.Delete(ctx, "new") }},
	}
}

// posts sends one message of each kind.
func posts(ctx context.Context, s checkpoint.Saver, thread string, payload []byte, kinds ...checkpoint.MessageKind) error {
	p := checkpoint.Post{Thread: thread}
	for i, kind := range kinds {
		p.Messages = append(p.Messages, checkpoint.Message{ID: fmt.Sprint("message ", i), Kind: kind, Payload: payload})
	}
	done, err := s.Post(ctx, p)
	if err == nil {
		err = done[0].Err
	}
	return err
}

// tell runs the story on a folder without faults and returns the contents after each act.
func tell(tb testing.TB, acts []act) []string {
	tb.Helper()
	s := open(tb, tb.TempDir())
	var after []string
	for _, a := range acts {
		if err := a.call(tb.Context(), s); err != nil {
			tb.Fatalf("%s: %v", a.name, err)
		}
		after = append(after, mustContents(tb, s))
	}
	return after
}

// Each step on the disk fails once, in every way and at every place. The act reports it. When it
// is called again, it succeeds, or reports that it had succeeded.
func TestEveryStepOnTheDiskMayFail(t *testing.T) {
	acts := story(t)
	want := tell(t, acts)
	for _, double := range []bool{false, true} {
		for n := 1; ; n++ {
			dir := t.TempDir()
			s := open(t, dir)
			file.Small(s, 600)
			count, failed := 0, ""
			file.Faults(s, func(step string) error {
				if count++; count == n || double && count == n+1 {
					failed = step
					return &os.PathError{Op: step, Path: "disk", Err: syscall.ENOSPC}
				}
				return nil
			})
			for i, a := range acts {
				err := a.call(t.Context(), s)
				for tries := 0; err != nil; tries++ {
					if !errors.Is(err, syscall.ENOSPC) || tries == 3 {
						t.Fatalf("fault %d (%s, double %t): %s: %v", n, failed, double, a.name, err)
					}
					err = a.call(t.Context(), s)
				}
				if got := mustContents(t, s); got != want[i] {
					t.Fatalf("fault %d (%s, double %t): after %s: got\n%s\nwant\n%s", n, failed, double, a.name, got, want[i])
				}
			}
			if got := mustContents(t, open(t, dir)); got != want[len(want)-1] {
				t.Fatalf("fault %d (%s, double %t): opened again: got\n%s\nwant\n%s", n, failed, double, got, want[len(want)-1])
			}
			if failed == "" {
				t.Logf("%d faults", n-1)
				break
			}
		}
	}
}

// From some step on, every step on the disk fails, as when the process dies there. Another saver
// finds everything that was acknowledged and nothing half done, and can continue.
func TestEveryStepOnTheDiskMayBeTheLast(t *testing.T) {
	acts := story(t)
	want := tell(t, acts)
	for n := 1; ; n++ {
		dir := t.TempDir()
		s := open(t, dir)
		file.Small(s, 600)
		count, died := 0, ""
		file.Faults(s, func(step string) error {
			if count++; count >= n {
				if died == "" {
					died = step
				}
				return syscall.EIO
			}
			return nil
		})
		i := 0
		for i < len(acts) && acts[i].call(t.Context(), s) == nil && died == "" {
			i++
		}
		if died == "" {
			t.Logf("%d places", n-1)
			return
		}
		_ = s.Close()
		s = open(t, dir)
		before := ""
		if i > 0 {
			before = want[i-1]
		}
		// The act in progress has happened or not.
		if got := mustContents(t, s); i < len(acts) && got != before && got != want[i] {
			t.Fatalf("dead at step %d (%s) of %s: got\n%s\nwant what was before\n%s\nor after\n%s", n, died, acts[i].name, got, before, want[i])
		}
		for ; i < len(acts); i++ {
			if err := acts[i].call(t.Context(), s); err != nil {
				t.Fatalf("dead at step %d (%s): %s: %v", n, died, acts[i].name, err)
			}
			if got := mustContents(t, s); got != want[i] {
				t.Fatalf("dead at step %d (%s): after %s: got\n%s\nwant\n%s", n, died, acts[i].name, got, want[i])
			}
		}
	}
}

func TestWhatWasNeverWritten(t *testing.T) {
	whole, lastFrame, _, before, _ := small(t)
	zeros := make([]byte, 100)
	for name, c := range map[string]struct {
		file    []byte
		want    string
		damaged bool
	}{
		"an empty file":                 {nil, "", false},
		"a few zeros":                   {zeros[:56], "", false},
		"zeros after the last frame":    {append(bytes.Clone(whole[:lastFrame]), zeros...), before, false},
		"zeros in the header":           {append(append(bytes.Clone(whole[:8]), zeros[:48]...), whole[56:]...), "", true},
		"zeros between frames":          {append(append(bytes.Clone(whole[:lastFrame]), zeros...), whole[lastFrame:]...), before, false},
		"a frame without its place":     {append(bytes.Clone(whole), whole[lastFrame:]...), "", false},
		"something that is no segment":  {[]byte("a letter to somebody, with many words, which is longer than a header"), "", true},
		"an operation of a later kind":  {file.SegmentOf([]byte{0x70, 0}, nil), "", true},
		"a value without an operation":  {file.SegmentOf([]byte{0x20, 1, 'k'}, []byte("value")), "", true},
		"an operation without a value":  {file.SegmentOf([]byte{0x11, 1, 'k', 9}, []byte("value")), "", true},
		"a table that does not exist":   {file.SegmentOf([]byte{0x2f, 1, 'k'}, nil), "", true},
		"an operation that has no end":  {file.SegmentOf([]byte{0x20, 9, 'k'}, nil), "", true},
		"a frame that deletes nothing":  {file.SegmentOf([]byte{0x20, 1, 'k'}, nil), "", false},
		"a segment of a format before":  {append([]byte("ggsaver9"), whole[8:]...), "", true},
		"a segment of a format to come": {append([]byte("ggsaverB"), whole[8:]...), "", true},
	} {
		dir, path := place(t, c.file)
		s, err := file.Open(dir)
		if c.damaged != errors.Is(err, checkpoint.ErrDamaged) || c.damaged && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want damage %t", name, err, c.damaged)
		}
		if err != nil {
			continue
		}
		if got := mustContents(t, s); c.want != "" && got != c.want {
			t.Errorf("%s: got %q; want %q", name, got, c.want)
		}
		_ = s.Close()
	}
}

// A folder that an earlier release wrote is refused, with both formats.
func TestTheFormatBeforeIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thread-t.saver"), []byte("ggsaver9 and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Open":   second(file.Open(dir)),
		"Repair": second(file.Repair(t.Context(), dir)),
	} {
		if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), "format 9") || !strings.Contains(err.Error(), "format A") {
			t.Errorf("%s: got %v, want an ErrDamaged that names both formats", what, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v; want it unchanged", entries, err)
	}
}

// second returns the error of a call.
func second[V any](_ V, err error) error { return err }

// A writer that waits for another's write gives up when its context ends.
func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	slow, other := open(t, dir), open(t, dir)
	a := opening(t, "t", checkpoint.ID{})
	mustAppend(t, slow, a)
	writing, finish := make(chan bool), make(chan bool)
	var once sync.Once
	file.Faults(slow, func(step string) error {
		if step == "sync" {
			once.Do(func() {
				close(writing)
				<-finish
			})
		}
		return nil
	})
	done := make(chan error)
	next := step(t, a, a.Records[0].ID)
	go func() {
		_, err := slow.Append(context.WithoutCancel(t.Context()), next)
		done <- err
	}()
	<-writing
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	put := checkpoint.PutWrites{Thread: "t", Fence: a.Records[0].ID, Writes: result(a.Records[0].ID, "a")}
	if _, err := other.PutWrites(ctx, put); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("put behind a slow write: got %v, want the context's error", err)
	}
	// A reader does not wait.
	if _, err := other.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
		t.Errorf("load during a slow write: %v", err)
	}
	close(finish)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := other.PutWrites(t.Context(), put); err != nil {
		t.Errorf("put after the slow write: %v", err)
	}
}

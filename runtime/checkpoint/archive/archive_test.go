package archive_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// entry is one version of an archive.
type entry struct {
	Version checkpoint.Version
	Items   []checkpoint.ExportItem
	Err     string
}

func seq(items []checkpoint.ExportItem, err error) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
		}
	}
}

func write(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	for _, e := range entries {
		var failure error
		if e.Err != "" {
			failure = errors.New(e.Err)
		}
		if err := w.Add(e.Version, seq(e.Items, failure)); (err != nil) != (failure != nil) {
			tb.Fatalf("Add: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatalf("Close: %v", err)
	}
	return b.Bytes()
}

// read returns the versions of an archive up to its first fault.
func read(b []byte) (entries []entry, err error) {
	r, err := archive.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		e := entry{Version: v}
		for item, err := range r.Items() {
			if errors.Is(err, archive.ErrIncomplete) {
				e.Err = err.Error()
				break
			}
			if err != nil {
				return entries, err
			}
			e.Items = append(e.Items, item)
		}
		entries = append(entries, e)
	}
}

func id(b byte) checkpoint.ID { return checkpoint.ID{0: b, 15: 1} }

// full returns a version with a value in every field.
func full() entry {
	at := time.Date(2026, 5, 6, 7, 8, 9, 1000, time.UTC)
	return entry{
		Version: checkpoint.Version{Thread: "order\x00\xff", Number: 3, Released: at, Head: id(2), Records: 2, Status: checkpoint.Done},
		Items: []checkpoint.ExportItem{
			{Thread: &checkpoint.Thread{
				ID: "order\x00\xff", Version: 3, Status: checkpoint.Waiting, Holder: "host", Lease: at, Head: id(2), Step: 7, Updated: at,
				Versions: 4, Wake: at, Attempts: 2, Graph: "desk", Created: at, Title: "two books", Labels: map[string]string{"a": "b", "c": "d"},
				Priority: checkpoint.High, Posted: 9, Inputs: 1, Others: 2, Cancels: 1,
			}},
			{Record: &checkpoint.NamespaceRecord{Namespace: "", Record: checkpoint.Record{
				ID: id(1), Seq: 1, Base: id(1), Line: id(1), Step: 0, Source: checkpoint.Input, Request: "r", Fingerprint: 1<<64 - 1, Graph: "desk",
				Meta: map[string]string{"user:who": "me"}, Created: at, Snapshot: true, Payload: []byte{0x80},
			}}},
			{Record: &checkpoint.NamespaceRecord{Namespace: "sub", Record: checkpoint.Record{
				ID: id(2), Seq: 2, Parent: id(1), Base: id(1), Line: id(1), Commits: id(1), Step: 1, Source: checkpoint.Loop, Ran: []string{"a", "b"},
				Due:           []checkpoint.Task{{Node: "c"}, {Node: "d", Index: 4, Payload: []byte("x")}, {Node: "e", Payload: []byte{}}},
				PendingRoutes: []string{"r"}, Joins: []checkpoint.Join{{To: "j", Fired: []string{"a"}}}, ClearedStops: []string{"s"},
				Payload: []byte("delta"),
			}}},
			{Write: &checkpoint.Write{Namespace: "sub", Base: id(2), Task: "key", Kind: checkpoint.Question, Name: "q", Payload: []byte("?")}},
			{Message: &checkpoint.Message{
				Number: 8, ID: "m", Kind: checkpoint.SignalMessage, Name: "paid", Key: "k", Payload: []byte("p"), Posted: at, Refused: "no",
			}},
			{Message: &checkpoint.Message{Number: 9, ID: "n", Kind: checkpoint.InputMessage, Taken: true}},
		},
	}
}

func TestReadersReturnWhatWritersTook(t *testing.T) {
	want := []entry{
		full(),
		{Version: checkpoint.Version{Thread: "empty", Number: 1}},
		{Version: checkpoint.Version{Thread: "broken", Number: 1}, Items: full().Items[:2], Err: "the disk is gone"},
		{Version: checkpoint.Version{Thread: "large", Number: 1}, Items: []checkpoint.ExportItem{
			{Write: &checkpoint.Write{Base: id(1), Task: "k", Kind: checkpoint.Result, Payload: bytes.Repeat([]byte("x"), 3<<20)}},
		}},
		full(),
	}
	got, err := read(write(t, want...))
	if err != nil {
		t.Fatal(err)
	}
	want[2].Err = "archive: the export of the version failed: the disk is gone"
	sameBytes := cmp.Comparer(func(x, y []byte) bool { return bytes.Equal(x, y) && (x == nil) == (y == nil) }) // cmp is slow on them
	if diff := cmp.Diff(want, got, sameBytes); diff != "" {
		t.Errorf("the versions differ (-written +read):\n%s", diff)
	}
}

// TestFormat compares an archive with stored bytes, which must stay readable.
func TestFormat(t *testing.T) {
	got := write(t, full())
	name := filepath.Join("testdata", "format-1.hex")
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(name, []byte(hex.Dump(got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), hex.Dump(got)); diff != "" {
		t.Errorf("the bytes of format %d have changed (-stored +written):\n%s", archive.Format, diff)
	}
}

func TestEveryChangedByteIsFound(t *testing.T) {
	whole := write(t, full())
	if _, err := read(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 0x20
		if _, err := read(changed); err == nil {
			t.Errorf("byte %d was changed, and the reader returns no error", i)
		}
		var damaged *archive.DamagedError
		if _, err := read(whole[:i]); !errors.As(err, &damaged) || !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("the archive was cut after %d bytes: %v, want a *DamagedError that is ErrDamaged", i, err)
		}
	}
	if _, err := read(append(slices.Clone(whole), 0)); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("a byte follows the archive: %v, want ErrDamaged", err)
	}
}

// TestFramesCannotMove exchanges, repeats and removes whole frames.
func TestFramesCannotMove(t *testing.T) {
	whole := write(t, full())
	var frames [][]byte
	for rest := whole[20:]; len(rest) > 0; {
		size := 5 + int(rest[3])<<8 + int(rest[4]) + 4
		frames = append(frames, rest[:size])
		rest = rest[size:]
	}
	for i := range frames {
		without := slices.Concat(frames[:i], frames[i+1:])
		twice := slices.Insert(slices.Clone(frames), i, frames[i])
		for _, altered := range [][][]byte{without, twice} {
			b := slices.Concat(whole[:20], slices.Concat(altered...))
			if _, err := read(b); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("frame %d of %d is missing or repeated: %v, want ErrDamaged", i, len(frames), err)
			}
		}
	}
}

func TestAnotherFormatIsNamed(t *testing.T) {
	b := write(t)
	b[19] = 7
	var format *archive.FormatError
	if _, err := read(b); !errors.As(err, &format) || format.Found != 7 || format.Want != archive.Format {
		t.Errorf("got %v, want a *FormatError of format 7", err)
	}
	if _, err := read([]byte("PK\x03\x04 this is some other file")); err == nil || !strings.Contains(err.Error(), "not an archive") {
		t.Errorf("another file: %v, want an error that says so", err)
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct{ room int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, errors.ErrUnsupported
	}
	return len(b), nil
}

func TestAFailedWriteIsFinal(t *testing.T) {
	w := archive.NewWriter(&brokenWriter{100 << 10})
	items := []checkpoint.ExportItem{{Write: &checkpoint.Write{Payload: make([]byte, 90<<10)}}}
	errs := []error{}
	for range 3 {
		errs = append(errs, w.Add(checkpoint.Version{Thread: "t", Number: 1}, seq(items, nil)))
	}
	errs = append(errs, w.Close(), w.Close())
	for i, err := range errs[1:] {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("call %d: %v, want the error of the writer", i+1, err)
		}
	}
	if err := archive.NewWriter(io.Discard).Add(checkpoint.Version{}, seq([]checkpoint.ExportItem{{}}, nil)); err == nil {
		t.Error("an empty item is accepted")
	}
}

// TestImportOfACutArchiveStoresNothing reads a damaged archive into a saver.
func TestImportOfACutArchiveStoresNothing(t *testing.T) {
	saver := memory.New()
	e := full()
	e.Version.Thread, e.Items[0].Thread.ID = "order", "order"
	e.Items[2].Record.Namespace = ""
	e.Items[2].Record.Payload = []byte{0x80}
	b := write(t, e)
	for _, size := range []int{len(b), len(b) - 80} {
		r, err := archive.NewReader(bytes.NewReader(b[:size]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		err = saver.Import(t.Context(), "order"+string(rune('0'+size%7)), r.Items())
		if cut := size < len(b); cut != errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%d of %d bytes: Import returns %v", size, len(b), err)
		}
	}
	stored := 0
	for _, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if stored != 1 {
		t.Errorf("%d threads are stored, want the one of the whole archive", stored)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(write(f, full()))
	f.Add(write(f, entry{Version: checkpoint.Version{Thread: "t"}, Err: "broken"}))
	f.Add([]byte("graphgen archive\x00\x00\x00\x01V\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := read(b)
		var format *archive.FormatError
		if err != nil {
			if !errors.Is(err, checkpoint.ErrDamaged) && !errors.As(err, &format) {
				t.Fatalf("%v is neither ErrDamaged nor a *FormatError", err)
			}
			return
		}
		for i := range entries {
			entries[i].Err = strings.TrimPrefix(entries[i].Err, "archive: the export of the version failed: ")
		}
		again, err := read(write(t, entries...))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("the archive is read, but not after it is written again: %v", err)
		}
	})
}

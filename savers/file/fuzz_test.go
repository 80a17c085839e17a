package file_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// Reading a thread's file returns an answer or an error, never a panic, for any contents. If a
// reader does not report damage, a writer can continue.
func FuzzFile(f *testing.F) {
	whole, lastFrame, _, _, _ := small(f)
	f.Add(whole)
	f.Add(whole[:lastFrame])
	f.Add(whole[:20])
	f.Add([]byte("ggsaver1"))
	f.Add([]byte{})
	f.Fuzz(readAndGoOn)
}

// The same for the contents of frames with valid checksums.
func FuzzEvents(f *testing.F) {
	whole, _, _, _, _ := small(f)
	payloads := file.Payloads(whole)
	for i := range payloads {
		f.Add(payloads[i], []byte{})
		f.Add(payloads[0], payloads[i])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) { readAndGoOn(t, file.FileOf("t", first, second)) })
}

func readAndGoOn(t *testing.T, b []byte) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, threadFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	_, err := contents(t, s)
	if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("got %v, want an ErrDamaged", err)
	}
	chain, loadErr := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if loadErr != nil && (err == nil || !errors.Is(loadErr, checkpoint.ErrDamaged)) {
		t.Fatalf("contents: %v; load: %v", err, loadErr)
	}
	if err != nil {
		return
	}
	a := opening(t, "t", chain.Head)
	a.Open.TakeOver = true
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	whole, _, _, _, _ := small(f)
	f.Add(whole[8:])
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := file.ReadFrames(b)
		if !errors.Is(err, io.EOF) && !errors.Is(err, file.ErrTorn) && !errors.Is(err, checkpoint.ErrDamaged) {
			t.Fatalf("got %v", err)
		}
	})
}

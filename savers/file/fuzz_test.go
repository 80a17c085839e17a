package file_test

import (
	"errors"
	"os"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// Reading a segment returns an answer or an error, never a panic, for any contents. If Open does
// not report damage, a writer can continue. If it does, Repair makes the folder usable.
func FuzzFile(f *testing.F) {
	whole, lastFrame, _, _, _ := small(f)
	f.Add(whole)
	f.Add(whole[:lastFrame])
	f.Add(whole[:20])
	f.Add([]byte("ggsaver1"))
	f.Add([]byte{})
	f.Fuzz(readAndGoOn)
}

// The same for frames with valid checksums.
func FuzzFrames(f *testing.F) {
	whole, _, _, _, _ := small(f)
	ops, values := file.Operations(whole)
	for i := range ops {
		f.Add(ops[i], values[i])
	}
	f.Add([]byte{0x30, 1, 'a', 1, 'z'}, []byte{})
	f.Fuzz(func(t *testing.T, ops, values []byte) { readAndGoOn(t, file.SegmentOf(ops, values)) })
}

func readAndGoOn(t *testing.T, b []byte) {
	t.Helper()
	dir, _ := place(t, b)
	s, err := file.Open(dir)
	if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("open: got %v, want an ErrDamaged", err)
	}
	if err != nil {
		if _, err := file.Repair(t.Context(), dir); err != nil {
			if format := len(b) >= 8 && string(b[:7]) == "ggsaver" && b[7] != 'A'; !format {
				t.Fatalf("repair: %v", err)
			}
			return
		}
		if s, err = file.Open(dir); err != nil {
			t.Fatalf("open after the repair: %v", err)
		}
	}
	defer s.Close()
	if _, err := contents(t, s); err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("contents: got %v, want an ErrDamaged", err)
	}
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("load: got %v, want an ErrDamaged", err)
	}
	if err != nil {
		return
	}
	a := opening(t, "t", chain.Head)
	a.Open.TakeOver = true
	if _, err := s.Append(t.Context(), a); err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
		t.Fatalf("append: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
}

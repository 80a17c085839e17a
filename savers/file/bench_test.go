package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// ahead writes a thread of n steps of 200 bytes, each after the one before.
func ahead(b *testing.B, s checkpoint.Saver, n int) (checkpoint.Append, checkpoint.ID) {
	b.Helper()
	a := opening(b, "t", checkpoint.ID{})
	a.Lease = time.Hour
	fence := a.Records[0].ID
	mustAppend(b, s, a)
	for range n {
		a = message(b, a, fence)
		mustAppend(b, s, a)
	}
	return a, fence
}

// message is a step of 200 bytes.
func message(b *testing.B, before checkpoint.Append, fence checkpoint.ID) checkpoint.Append {
	b.Helper()
	a := step(b, before, fence)
	a.Records[0].Snapshot, a.Records[0].Payload, a.Lease = false, []byte(strings.Repeat("m", 200)), time.Hour
	return a
}

// An append costs the same at every place in a thread.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("step=", n), func(b *testing.B) {
			s, err := file.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			a, fence := ahead(b, s, n)
			written := 0
			file.Written(s, &written)
			b.ReportAllocs()
			for b.Loop() {
				a = message(b, a, fence)
				mustAppend(b, s, a)
			}
			b.ReportMetric(float64(written)/float64(b.N), "written-B/op")
		})
	}
}

// An append compared with a bare write and sync of the same bytes. They alternate in the same
// folder.
func BenchmarkAppendAgainstBareWrite(b *testing.B) {
	dir := b.TempDir()
	s, err := file.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	a, fence := ahead(b, s, 10)
	bare, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	frame := make([]byte, 250)
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := bare.Write(frame); err != nil {
			b.Fatal(err)
		}
		if err := bare.Sync(); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(start)
		a = message(b, a, fence)
		start = time.Now()
		mustAppend(b, s, a)
		ours += time.Since(start)
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "append-ns/op")
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N), "bare-ns/op")
	b.ReportMetric(float64(ours)/float64(theirs), "append/bare")
}

// The reads of a restart: a thread of n steps whose file is not open.
func BenchmarkLoadCold(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := file.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			ahead(b, s, n)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := file.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Load(b.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A listing of a folder. The first reads each file; the next ones read only changed files.
func BenchmarkThreads(b *testing.B) {
	const threads = 2_000
	dir := b.TempDir()
	s, err := file.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range threads {
		a := opening(b, fmt.Sprint("thread ", i), checkpoint.ID{})
		a.End = true
		mustAppend(b, s, a)
	}
	list := func(s checkpoint.Saver) {
		n := 0
		for _, err := range s.Threads(b.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != threads {
			b.Fatalf("listed %d threads, want %d", n, threads)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s, err := file.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			list(s)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/threads, "ns/thread")
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			list(s)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/threads, "ns/thread")
	})
}

// An append that is not synced, compared with a bare write of the same bytes.
func BenchmarkAppendNoSync(b *testing.B) {
	dir := b.TempDir()
	s, err := file.Open(dir, file.NoSync())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	a, fence := ahead(b, s, 10)
	b.ReportAllocs()
	for b.Loop() {
		a = message(b, a, fence)
		mustAppend(b, s, a)
	}
}

package proof_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// acknowledged is a record that a saver acknowledged, when so many steps were on the device.
type acknowledged struct {
	steps  int
	saver  string
	thread string
	id     checkpoint.ID
}

// onDisk opens the savers of a folder.
func onDisk(dir string) (map[string]checkpoint.Saver, error) {
	f, err := file.Open(filepath.Join(dir, "file"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "sqlite"), 0o700); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(filepath.Join(dir, "sqlite", "threads.db"))
	return map[string]checkpoint.Saver{"file": f, "sqlite": s}, err
}

// appendOne appends one record to a thread, as a run of its own.
func appendOne(ctx context.Context, s checkpoint.Saver, thread string, payload []byte) (checkpoint.ID, error) {
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: thread})
	if err != nil {
		return checkpoint.ID{}, err
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return id, err
	}
	_, err = s.Append(ctx, checkpoint.Append{
		Thread: thread, After: chain.Head, Open: &checkpoint.Opening{}, End: true,
		Records: []checkpoint.Record{{
			ID: id, Parent: chain.Head, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: payload,
		}},
	})
	return id, err
}

// TestSoakPowerCut cuts the power under an ext4 file system: any of the writes since the last
// flush may be lost. It needs root, FUSE, loop devices and mkfs.ext4.
// TestPowerCutLosesNothingAcknowledged of savers/file is the same on a model of a file system,
// wherever it runs.
func TestSoakPowerCut(t *testing.T) {
	text, set := os.LookupEnv("GRAPHGEN_SOAK")
	if !set {
		t.Log("GRAPHGEN_SOAK is not set: the power stays on")
		return
	}
	soak, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("GRAPHGEN_SOAK: %v; want a duration such as 10m", err)
	}
	until, seed := time.Now().Add(soak/10), rand.Uint64()
	rng, images, written := rand.New(rand.NewPCG(seed, 0)), 0, 0 //nolint:gosec // it is printed
	for images == 0 || time.Now().Before(until) {
		d, acks := recorded(t, rng)
		written += len(acks)
		for range 50 {
			images++
			n := rng.IntN(d.count() + 1)
			if err := d.check(t, rng, n, acks); err != nil {
				t.Fatalf("seed %d, image %d, after %d of %d writes and flushes: %v", seed, images, n, d.count(), err)
			}
		}
	}
	t.Logf("%d images, %d acknowledged records, none lost", images, written)
}

// recorded makes savers write to a new file system.
func recorded(t *testing.T, rng *rand.Rand) (d *block, acks []acknowledged) {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", empty)
	base, err := os.ReadFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	d = newBlock(t, base)
	dir := mounted(t, d.dev)
	savers, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var done sync.WaitGroup
	for writer, seed := range [...]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()} {
		done.Go(func() { // one file's sync commits another file's size, and not its pages
			rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is of the seed that is printed
			for range 60 {
				for name, s := range savers {
					thread := fmt.Sprint("thread ", writer, rng.IntN(4))
					id, err := appendOne(t.Context(), s, thread, random(rng, rng.IntN(1+rng.IntN(20000))))
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					mu.Lock()
					acks = append(acks, acknowledged{d.count(), name, thread, id})
					mu.Unlock()
				}
			}
		})
	}
	done.Wait()
	for name, s := range savers {
		if err := s.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	}
	command(t, "umount", dir)
	return d, acks
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32()) //nolint:gosec // any byte
	}
	return b
}

// mounted mounts a device and returns where.
func mounted(t *testing.T, dev string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	command(t, "mount", append(options, "-t", "ext4", dev, dir)...)
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "lost+found")); err == nil { // the test has failed
			command(t, "umount", dir)
		}
	})
	return dir
}

// check mounts an image and looks for all that was acknowledged before it, and writes on.
func (d *block) check(t *testing.T, rng *rand.Rand, n int, acks []acknowledged) error {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := d.image(image, n, rng); err != nil {
		return err
	}
	dir := mounted(t, image, "-o", "loop")
	err := checkMounted(t.Context(), dir, n, acks)
	command(t, "umount", dir)
	if err == nil {
		err = os.Remove(image)
	}
	return err
}

func checkMounted(ctx context.Context, dir string, n int, acks []acknowledged) error {
	savers, err := onDisk(dir)
	if err != nil {
		return err
	}
	for _, a := range acks {
		if a.steps > n {
			continue
		}
		if _, err := savers[a.saver].Load(ctx, checkpoint.Ref{Thread: a.thread, At: a.id}); err != nil {
			return fmt.Errorf("%s: record %s of %s: %w", a.saver, a.id, a.thread, err)
		}
	}
	for name, s := range savers {
		for thread, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
			if err == nil {
				_, err = appendOne(ctx, s, thread.ID, []byte("after"))
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, thread.ID, err)
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

package file_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// storage is what a disk may hold after a power cut. Synced data is there. For later changes:
//
// - each page of a file holds its contents of some moment
// - the size of a file is one that it had, or one between
// - each change of a name was made or not
type storage struct {
	dir   string
	names map[string]*stored // as they were when the folder was synced
	moves []move             // since then
}

// stored is a file's contents when it was synced, and after each change since.
type stored struct {
	info   os.FileInfo
	states [][]byte
}

// move is a change of names. A name without a file is removed.
type move map[string]*stored

// newStorage returns the storage of an empty folder.
func newStorage(dir string) *storage { return &storage{dir: dir, names: make(map[string]*stored)} }

// take records a step on the disk.
func (d *storage) take(step file.Step) error {
	switch step.Kind {
	case "syncDir":
		if step.Path == d.dir {
			d.names, d.moves = d.named(func() bool { return true }), nil
		}
		return nil
	case "remove":
		d.moves = append(d.moves, move{step.Path: nil})
		return nil
	}
	f, err := d.file(step.File)
	if err != nil {
		return err
	}
	last := f.states[len(f.states)-1]
	switch step.Kind {
	case "sync":
		f.states = [][]byte{last}
	case "write":
		next := make([]byte, max(len(last), int(step.At)+len(step.Data)))
		copy(next, last)
		copy(next[step.At:], step.Data)
		f.states = append(f.states, next)
	case "truncate":
		next := make([]byte, step.At)
		copy(next, last)
		f.states = append(f.states, next)
	}
	return nil
}

// file returns the contents of the open file f. It adds a file that it sees for the first time.
func (d *storage) file(f *os.File) (*stored, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	now := d.named(func() bool { return true })
	for _, known := range now {
		if os.SameFile(known.info, info) {
			return known, nil
		}
	}
	known := &stored{info: info, states: [][]byte{nil}}
	d.moves = append(d.moves, move{f.Name(): known})
	return known, nil
}

// named returns the files by name. made decides for each change of names whether it was made.
func (d *storage) named(made func() bool) map[string]*stored {
	names := maps.Clone(d.names)
	for _, m := range d.moves {
		if !made() {
			continue
		}
		for name, f := range m {
			if f == nil {
				delete(names, name)
			} else {
				names[name] = f
			}
		}
	}
	return names
}

// cut returns the contents that a file may have after a power cut, in pages of some size.
func (f *stored) cut(rng *rand.Rand, page int) []byte {
	least, most := len(f.states[0]), 0
	for _, b := range f.states {
		least, most = min(least, len(b)), max(most, len(b))
	}
	size := len(f.states[rng.IntN(len(f.states))])
	if rng.IntN(3) == 0 {
		size = least + rng.IntN(most-least+1)
	}
	b := make([]byte, size)
	late := rng.IntN(4) // how many pages of four stay behind
	for at := 0; at < size; at += page {
		state := f.states[len(f.states)-1]
		if rng.IntN(4) < late {
			state = f.states[rng.IntN(len(f.states))]
		}
		if at < len(state) {
			copy(b[at:min(at+page, size)], state[at:])
		}
	}
	return b
}

// image writes the possible contents of the disk after a power cut into a new folder.
func (d *storage) image(dir string, rng *rand.Rand) error {
	often := rng.IntN(3)
	names := d.named(func() bool { return rng.IntN(2) < often })
	page := []int{512, 4096}[rng.IntN(2)]
	for _, name := range slices.Sorted(maps.Keys(names)) {
		below, err := filepath.Rel(d.dir, name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, below)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, names[name].cut(rng, page), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// recoverAt opens an image of the moment of act i, and continues there up to act last.
func recoverAt(t *testing.T, dir string, acts []act, want []string, i, last int) error {
	t.Helper()
	s, err := file.Open(dir, file.Tracing(func(file.Step) {}))
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	defer s.Close()
	file.Small(s, 600)
	got, err := contents(t, s)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	before := ""
	if i > 0 {
		before = want[i-1]
	}
	if got != before && got != want[i] {
		return fmt.Errorf("got\n%.300s\nwant what was before\n%.300s\nor after\n%.300s", got, before, want[i])
	}
	for ; i <= last; i++ {
		if err := acts[i].call(t.Context(), s); err != nil {
			return fmt.Errorf("then %s: %w", acts[i].name, err)
		}
		if got, err := contents(t, s); err != nil || got != want[i] {
			return fmt.Errorf("after %s: got\n%s\n%w\nwant\n%s", acts[i].name, got, err, want[i])
		}
	}
	return nil
}

// cutter cuts the power during acts.
type cutter struct {
	rng    *rand.Rand
	each   int // the number of images at each moment
	images int
	least  int64 // the least size of a segment
	acts   []act
	want   []string // after each act
}

func newCutter(t *testing.T, larger, each int) *cutter {
	t.Helper()
	acts := storyOf(t, larger)
	return &cutter{rng: newRand(t), each: each, least: 1 << 20, acts: acts, want: tell(t, acts)}
}

// newRand returns different numbers in each run, or those of the seed GRAPHGEN_SEED.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text, set := os.LookupEnv("GRAPHGEN_SEED"); set {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("GRAPHGEN_SEED: %v; want the seed that a failure named", err)
		}
	}
	t.Logf("GRAPHGEN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is printed
}

// look looks at images of a moment in act i. One image continues to the end of the story. The
// others reach the same contents, so they continue for only two acts.
func (c *cutter) look(t *testing.T, d *storage, i int) error {
	t.Helper()
	last := len(c.acts) - 1
	for range c.each {
		c.images++
		image := filepath.Join(t.TempDir(), "image")
		if err := d.image(image, c.rng); err != nil {
			return err
		}
		if err := recoverAt(t, image, c.acts, c.want, i, last); err != nil {
			return fmt.Errorf("image %d, in %s: %w", c.images, c.acts[i].name, err)
		}
		last = min(i+1, len(c.acts)-1)
	}
	return nil
}

// run does the acts and looks at every moment. The storage omits steps of one kind.
func (c *cutter) run(t *testing.T, without string) error {
	t.Helper()
	dir, i := t.TempDir(), 0
	s, d := open(t, dir), newStorage(dir)
	file.Small(s, c.least)
	var failed error
	file.Trace(s, func(step file.Step) {
		if failed == nil {
			failed = c.look(t, d, i)
		}
		if step.Kind != without {
			failed = errors.Join(failed, d.take(step))
		}
	})
	for ; i < len(c.acts) && failed == nil; i++ {
		if err := c.acts[i].call(t.Context(), s); err != nil {
			return fmt.Errorf("%s: %w", c.acts[i].name, err)
		}
	}
	return failed
}

// The power fails at every moment of a story, and the disk holds any mixture of the unsynced
// data. Everything acknowledged is there, and the story continues to its end.
func TestPowerCutLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	each, sizes := 10, []int{0, 3000, 30000}
	if testing.Short() {
		each, sizes = 1, sizes[1:2]
	}
	images := 0
	for _, larger := range sizes {
		for _, least := range []int64{1 << 20, 600} {
			c := newCutter(t, larger, each)
			c.least = least
			if err := c.run(t, ""); err != nil {
				t.Errorf("payloads larger by %d, segments of %d: %v", larger, least, err)
			}
			images += c.images
		}
	}
	t.Logf("%d images", images)
}

// The test above fails if the saver forgets a sync.
func TestPowerCutFindsWhatIsNotSynced(t *testing.T) {
	for _, without := range []string{"sync", "syncDir"} {
		if err := newCutter(t, 3000, 5).run(t, without); err == nil {
			t.Errorf("without %s: got no error", without)
		}
	}
}

// A process dies at every step on the disk, another continues, and then the power fails.
func TestPowerCutAfterAKilledProcessLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	each, apart := 2, 1
	if testing.Short() {
		each, apart = 1, 5
	}
	c := newCutter(t, 3000, each)
	for n := 1; ; n += apart {
		dir, i, count := t.TempDir(), 0, 0
		first, d := open(t, dir), newStorage(dir)
		file.Small(first, 600)
		file.Trace(first, func(step file.Step) {
			if err := d.take(step); err != nil {
				t.Fatal(err)
			}
		})
		file.Faults(first, func(string) error {
			if count++; count >= n {
				return syscall.EIO
			}
			return nil
		})
		for i < len(c.acts) && c.acts[i].call(t.Context(), first) == nil && count < n {
			i++
		}
		if count < n {
			t.Logf("%d places, %d images", n/apart, c.images)
			return
		}
		_ = first.Close()
		second, err := file.Open(dir, file.Tracing(func(step file.Step) {
			if t.Context().Err() != nil { // the Close at the end of the test
				return
			}
			if err := c.look(t, d, i); err != nil {
				t.Fatalf("dead at step %d: %v", n, err)
			}
			if err := d.take(step); err != nil {
				t.Fatal(err)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = second.Close() })
		file.Small(second, 600)
		for last := min(i+2, len(c.acts)); i < last; i++ {
			if err := c.acts[i].call(t.Context(), second); err != nil {
				t.Fatalf("dead at step %d: %s: %v", n, c.acts[i].name, err)
			}
		}
	}
}

func TestPowerCutInTheFirstWrite(t *testing.T) {
	id := strings.Repeat("x", checkpoint.MaxThread)
	a := opening(t, id, checkpoint.ID{})
	a.Records[0].Payload = make([]byte, 20000)
	dir := t.TempDir()
	s, d := open(t, dir), newStorage(dir)
	rng, done := newRand(t), false
	file.Trace(s, func(step file.Step) {
		if done {
			return
		}
		if err := d.take(step); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			image := filepath.Join(t.TempDir(), "image")
			if err := d.image(image, rng); err != nil {
				t.Fatal(err)
			}
			s, err := file.Open(image, file.Tracing(func(file.Step) {}))
			if err != nil {
				t.Fatalf("after %s: %v", step.Kind, err)
			}
			if _, err := contents(t, s); err != nil {
				t.Fatalf("after %s: %v", step.Kind, err)
			}
			mustAppend(t, s, a) // it may be stored already
			_ = s.Close()
		}
	})
	mustAppend(t, s, a)
	done = true
}

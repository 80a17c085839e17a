package proof_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// block is a block device that keeps every write and flush. It is one file of a FUSE file system,
// under a loop device.
type block struct {
	dev  string // the loop device
	base []byte // as it was at first

	mu    sync.Mutex
	now   []byte
	steps []blockStep
}

// blockStep is a write, or without bytes a flush.
type blockStep struct {
	at int64
	b  []byte
}

// command runs a program of the system.
func command(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	out, err := exec.Command(name, args...).CombinedOutput() //nolint:gosec // programs that the test names
	if err != nil {
		tb.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newBlock returns a device that holds base.
func newBlock(tb testing.TB, base []byte) *block {
	tb.Helper()
	d := &block{base: base, now: slices.Clone(base)}
	dir := tb.TempDir()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		tb.Fatalf("/dev/fuse: %v; a power cut under a file system needs it, and root", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := syscall.Mount("graphgen", dir, "fuse", 0, options); err != nil {
		tb.Fatalf("mount a FUSE file system: %v; a power cut under a file system needs root", err)
	}
	served := make(chan error, 1)
	go func() { served <- d.serve(fd) }()
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount: %v", err)
		}
		if err := <-served; err != nil {
			tb.Errorf("FUSE: %v", err)
		}
		_ = syscall.Close(fd) // nothing is written to it
	})
	d.dev = command(tb, "losetup", "--find", "--show", filepath.Join(dir, "disk"))
	tb.Cleanup(func() { command(tb, "losetup", "--detach", d.dev) })
	return d
}

// The requests of FUSE that the file system answers. All others are not implemented.
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseSetattr = 4
	fuseOpen    = 14
	fuseRead    = 15
	fuseWrite   = 16
	fuseRelease = 18
	fuseFsync   = 20
	fuseFlush   = 25
	fuseInit    = 26
	fuseForgets = 42
	fuseHead    = 40 // bytes of a request before its arguments
)

// serve answers requests until the file system is unmounted.
func (d *block) serve(fd int) error {
	request := make([]byte, 1<<20)
	for {
		n, err := syscall.Read(fd, request)
		switch {
		case err == syscall.ENODEV:
			return nil
		case err == syscall.EINTR || err == syscall.ENOENT:
			continue
		case err != nil:
			return err
		}
		op := binary.LittleEndian.Uint32(request[4:])
		if op == fuseForget || op == fuseForgets {
			continue
		}
		answer := append(make([]byte, 8), request[8:16]...)
		body, errno := d.answer(op, binary.LittleEndian.Uint64(request[16:]), request[fuseHead:n])
		answer = append(answer, body...)
		binary.LittleEndian.PutUint32(answer, uint32(len(answer)))     //nolint:gosec // it is small
		binary.LittleEndian.PutUint32(answer[4:], uint32(-int(errno))) //nolint:gosec // two's complement is meant
		if _, err := syscall.Write(fd, answer); err != nil && err != syscall.ENOENT {
			return err
		}
	}
}

func (d *block) answer(op uint32, node uint64, in []byte) (body []byte, errno syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	le := binary.LittleEndian
	switch op {
	case fuseInit:
		body = le.AppendUint32(le.AppendUint32(nil, 7), 31)
		body = le.AppendUint32(le.AppendUint32(body, 0), 1<<5|1<<22) // large writes, max_pages
		body = le.AppendUint32(le.AppendUint32(body, 0), 128<<10)    // max_write
		body = le.AppendUint16(le.AppendUint32(body, 1), 32)         // time granularity, max_pages
		return append(body, make([]byte, 64-len(body))...), 0
	case fuseLookup:
		if string(in) != "disk\x00" {
			return nil, syscall.ENOENT
		}
		return append(le.AppendUint64(make([]byte, 0, 128), 2), append(make([]byte, 32), d.attributes(2)...)...), 0
	case fuseGetattr, fuseSetattr:
		return append(make([]byte, 16), d.attributes(node)...), 0
	case fuseOpen:
		return append(make([]byte, 8), 1, 0, 0, 0, 0, 0, 0, 0), 0 // without the page cache
	case fuseRead:
		at, size := le.Uint64(in[8:]), uint64(le.Uint32(in[16:]))
		end := min(at+size, uint64(len(d.now)))
		return d.now[min(at, end):end], 0
	case fuseWrite:
		at, size := int64(le.Uint64(in[8:])), le.Uint32(in[16:]) //nolint:gosec // it is a small file
		b := slices.Clone(in[40:][:size])
		if at+int64(size) > int64(len(d.now)) {
			return nil, syscall.ENOSPC
		}
		copy(d.now[at:], b)
		d.steps = append(d.steps, blockStep{at, b})
		return le.AppendUint64(nil, uint64(size)), 0
	case fuseFsync:
		d.steps = append(d.steps, blockStep{})
		return nil, 0
	case fuseRelease, fuseFlush:
		return nil, 0
	}
	return nil, syscall.ENOSYS
}

// attributes returns what FUSE says of the folder, node 1, or the file.
func (d *block) attributes(node uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, node)
	size, mode, links := uint64(0), uint32(syscall.S_IFDIR|0o700), uint32(2)
	if node == 2 {
		size, mode, links = uint64(len(d.now)), syscall.S_IFREG|0o600, 1
	}
	b = le.AppendUint64(le.AppendUint64(b, size), size/512)
	b = append(b, make([]byte, 36)...) // times
	b = le.AppendUint32(le.AppendUint32(b, mode), links)
	return append(b, make([]byte, 88-len(b))...)
}

// count returns how many writes and flushes there were.
func (d *block) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.steps)
}

// image writes to a file what the device may hold after a power cut at step n. It has all writes
// up to the last flush, and any of the later ones.
func (d *block) image(path string, n int, rng *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	flushed := n
	for flushed > 0 && d.steps[flushed-1].b != nil {
		flushed--
	}
	b, often := slices.Clone(d.base), rng.IntN(5)
	for i, s := range d.steps[:n] {
		if i < flushed || rng.IntN(4) < often {
			copy(b[s.at:], s.b)
		}
	}
	return os.WriteFile(path, b, 0o600)
}

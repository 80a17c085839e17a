// Simruntime changes a copy of the Go runtime, so that a seed repeats a simulation. It prints the
// name of a file for the flag -overlay of go test. The file and the changed ones are in the cache
// folder of the user. The next call with the same patches replaces them.
//
// The changes apply to goroutines in a bubble of testing/synctest. There, a seed decides about
// select statements, the order of maps and math/rand. Time passes while a goroutine waits for a
// mutex. No goroutine is interrupted because it has run for 10 ms.
//
// The arguments are patches of this module, such as a fault that was mended. The files with the
// patches are part of the overlay.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit replaces a text that a file of the runtime has once.
type edit struct{ file, old, new string }

var edits = []edit{
	{"runtime/rand.go", "func rand() uint64 {\n", `func rand() uint64 {
	if getg().bubble != nil {
		return bubbleRand()
	}
`},
	{"runtime/select.go", "j := cheaprandn(uint32(norder + 1))", "j := randn(uint32(norder + 1))"},
	{"runtime/time.go", "t.rand = cheaprand()", "t.rand = uint32(rand())"},
	{"runtime/rand.go", "// mrandinit ", `// bubbleState is the state of the source for goroutines in bubbles.
var bubbleState uint64

// seedBubbles seeds the source for goroutines in bubbles.
//
//go:linkname seedBubbles
func seedBubbles(seed uint64) { bubbleState = seed }

// bubbleRand is wyrand, for one P.
//
//go:nosplit
func bubbleRand() uint64 {
	bubbleState += 0xa0761d6478bd642f
	hi, lo := math.Mul64(bubbleState, bubbleState^0xe7037ed1a0b428db)
	return hi ^ lo
}

// mrandinit `},
	{"runtime/runtime2.go", "	waitReasonSyncCondWait:          true,\n", `	waitReasonSyncCondWait:          true,
	waitReasonSyncMutexLock:         true,
	waitReasonSyncRWMutexRLock:      true,
	waitReasonSyncRWMutexLock:       true,
`},
	{"runtime/proc.go", "const forcePreemptNS = 10 * 1000 * 1000 ", "const forcePreemptNS = 3600 * 1000 * 1000 * 1000 "},
	{"runtime/alg.go", "hashkey[i] = uintptr(bootstrapRand())", "hashkey[i] = uintptr(i+1) * 0x9e3779b1"},
	{"runtime/alg.go", "key[i] = bootstrapRand()", "key[i] = uint64(i+1) * 0x9e3779b97f4a7c15"},
	{"runtime/malloc.go", "randomizeHeapBase = goexperiment.RandomizedHeapBase64 &&", "randomizeHeapBase = false && goexperiment.RandomizedHeapBase64 &&"},
	{"internal/sync/mutex.go", "	starvationThresholdNs = 1e6\n", "	starvationThresholdNs = 3600e9\n"},
}

// main writes the overlay for the patches that the arguments name.
func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "simruntime:", err)
		os.Exit(1)
	}
}

// write writes the changed files, and prints the name of the overlay.
func write(patches []string) error {
	root, err := env("GOROOT")
	if err != nil {
		return err
	}
	mod, err := env("GOMOD")
	if err != nil {
		return err
	}
	changed := make(map[string]string)
	for _, e := range edits {
		name := filepath.Join(root, "src", filepath.FromSlash(e.file))
		text, err := read(changed, name)
		if err != nil {
			return err
		}
		if n := strings.Count(text, e.old); n != 1 {
			return fmt.Errorf("%s has %q %d times, want once; this version of Go needs other edits", e.file, e.old, n)
		}
		changed[name] = strings.Replace(text, e.old, e.new, 1)
	}
	for _, p := range patches {
		if err := apply(changed, filepath.Dir(mod), p); err != nil {
			return err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", root, mod, patches))
	dir := filepath.Join(cache, "graphgen-simruntime", hex.EncodeToString(key[:8]))
	replace := make(map[string]string)
	for name, text := range changed {
		key := sha256.Sum256([]byte(name))
		replace[name] = filepath.Join(dir, hex.EncodeToString(key[:8])+"_"+filepath.Base(name))
		if err := put(replace[name], text); err != nil {
			return err
		}
	}
	index, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "overlay.json")
	if err := put(name, string(index)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, name)
	return err
}

// env returns a value of go env.
func env(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}

// read returns the text of a file, as it is changed so far.
func read(changed map[string]string, name string) (string, error) {
	if text, ok := changed[name]; ok {
		return text, nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

// put writes a file. Another process that reads the file finds the old text or the new one.
func put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	part := fmt.Sprint(name, ".", os.Getpid())
	if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// apply applies a patch to the files of the module in the folder root that it names.
func apply(changed map[string]string, root, patch string) error {
	b, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "overlay")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	var names []string
	for line := range strings.Lines(string(b)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		names = append(names, name)
		text, err := read(changed, filepath.Join(root, name))
		if err == nil {
			err = put(filepath.Join(tree, name), text)
		}
		if err != nil {
			return err
		}
	}
	git := exec.Command("git", "apply", "-")
	git.Dir, git.Stdin, git.Stderr = tree, strings.NewReader(string(b)), os.Stderr
	if err := git.Run(); err != nil {
		return fmt.Errorf("%s does not apply: %w", patch, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			return err
		}
		changed[filepath.Join(root, name)] = string(text)
	}
	return nil
}

// Simruntime changes a copy of the Go runtime, so that a seed repeats a simulation. It prints the
// name of a file for the flag -overlay of go test.
//
// The changes apply to goroutines in a bubble of testing/synctest. There, a seed decides about
// select statements, the order of maps and math/rand. Time passes while a goroutine waits for a
// mutex. No goroutine is interrupted because it has run for 10 ms.
//
// The arguments are patches of this module, such as a fault that was mended. The files with the
// patches are part of the overlay.
package main

import (
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
	dir, err := os.MkdirTemp("", "overlay")
	if err != nil {
		return err
	}
	replace := make(map[string]string)
	root, err := env("GOROOT")
	for _, e := range edits {
		src := filepath.Join(root, "src", filepath.FromSlash(e.file))
		if err == nil {
			err = change(dir, replace, src, func(text string) (string, error) {
				if n := strings.Count(text, e.old); n != 1 {
					return "", fmt.Errorf("%s has %q %d times, want once; this version of Go needs other edits", e.file, e.old, n)
				}
				return strings.Replace(text, e.old, e.new, 1), nil
			})
		}
	}
	for _, p := range patches {
		if err == nil {
			err = apply(dir, replace, p)
		}
	}
	if err != nil {
		return err
	}
	index, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, index, 0o600); err != nil {
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

// change writes a changed copy of the file src, or changes the copy.
func change(dir string, replace map[string]string, src string, edit func(string) (string, error)) error {
	from := src
	if replace[src] != "" {
		from = replace[src]
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text, err := edit(string(b))
	if err != nil {
		return err
	}
	replace[src] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(src)))
	return os.WriteFile(replace[src], []byte(text), 0o600)
}

// apply applies a patch to copies of the files that it names.
func apply(dir string, replace map[string]string, patch string) error {
	mod, err := env("GOMOD")
	if err != nil {
		return err
	}
	b, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	var names []string
	for line := range strings.Lines(string(b)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		names = append(names, name)
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o700); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(mod), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, name), text, 0o600)
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
		replace[filepath.Join(filepath.Dir(mod), name)] = filepath.Join(tree, name)
	}
	return nil
}

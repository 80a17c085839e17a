package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The lock file in the folder of the service is that of all three releases. It refuses the field
// of release 2 without its former name.
func TestTheLockFileHasAllReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("builds graphgen for another module; the scripts of cmd/graphgen have the refusals of lock files")
	}
	var stderr strings.Builder
	m, err := newModule(t.Context(), t.TempDir(), &stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.write(t.Context(), 1); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	state, err := os.ReadFile(filepath.Join(m.source, "state.go"))
	if err != nil {
		t.Fatal(err)
	}
	forgot := strings.Replace(string(state), "`graph:\"was=Card\"`", "", 1)
	if err := os.WriteFile(filepath.Join(m.dir, "state.go"), []byte(forgot), 0o600); err != nil {
		t.Fatal(err)
	}
	err = goCommand(t.Context(), m.dir, &stderr, "generate", ".")
	if want := "State.PaidBy: is new, and Card is gone; if this is a rename, add was=Card to the tag"; err == nil || !strings.Contains(stderr.String(), want) {
		t.Errorf("a field with a new name: got %v and %s, want an error with %q", err, stderr.String(), want)
	}
	for release := 2; release <= releases; release++ {
		if err := m.write(t.Context(), release); err != nil {
			t.Fatalf("release %d: %v\n%s", release, err, stderr.String())
		}
	}
	got, err := os.ReadFile(filepath.Join(m.dir, "graphgen.lock"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "graphgen.lock"))
	if err != nil || string(got) != string(want) {
		t.Errorf("the lock file of three releases is\n%s\nthe file in the folder is\n%s%v", got, want, err)
	}
}

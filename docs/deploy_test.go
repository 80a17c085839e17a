package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// verifier is the command that verifies units.
const verifier = "systemd-analyze" //nolint:misspell // its name

// TestUnitsOfSystemd verifies the units of deploy by systemd, if the machine has it. A unit names
// programs that are not installed here, so another one stands for them.
func TestUnitsOfSystemd(t *testing.T) {
	units, err := filepath.Glob("../deploy/*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("got the units %q, %v; want two", units, err)
	}
	drain := time.Duration(constantOf(t, "runtime/worker", "default of DrainTimeout") + constantOf(t, "runtime/worker", "default of CancelTimeout"))
	for _, name := range append(units, "howto/deploy.md") {
		for _, m := range regexp.MustCompile(`TimeoutStopSec=(\d+)`).FindAllStringSubmatch(string(read(t, name)), -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || time.Duration(n)*time.Second <= drain {
				t.Errorf("%s has %s, want more than the %s of a drain", name, m[0], drain)
			}
		}
	}
	if page := string(read(t, "howto/deploy.md")); !strings.Contains(page, "up to "+seconds(int64(drain))+" seconds") {
		t.Errorf("deploy.md names another time than the %s of a drain", drain)
	}
	systemd, err := exec.LookPath(verifier)
	if err != nil {
		t.Skip(verifier + " is not installed")
	}
	verify := func(name, unit string) error {
		path := filepath.Join(t.TempDir(), strings.Replace(name, "@.", "@1.", 1))
		if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), systemd, "verify", "--man=no", path).CombinedOutput()
		t.Logf("%s: %v: %s", name, err, out)
		if err == nil && strings.Contains(string(out), filepath.Base(path)) {
			return errors.New("it ignores a line") // and says which
		}
		return err
	}
	for _, name := range units {
		unit := regexp.MustCompile(`ExecStart=/usr/local/bin/\S+`).ReplaceAllString(string(read(t, name)), "ExecStart=/bin/true")
		if err := verify(filepath.Base(name), unit); err != nil {
			t.Errorf("systemd refuses %s: %v", name, err)
		}
		if verify(filepath.Base(name), strings.Replace(unit, "[Service]", "[Service]\nKillSignal=SIGNONE", 1)) == nil {
			t.Error("systemd accepts a unit that is wrong: the test proves nothing")
		}
	}
}

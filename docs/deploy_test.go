package docs

import (
	"errors"
	"maps"
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

// TestTheImageHasProgramsOfTheRepository reads the arguments of the build in deploy/Dockerfile:
// the defaults, and those of its examples. Nothing builds the image, because that needs a network.
func TestTheImageHasProgramsOfTheRepository(t *testing.T) {
	image := string(read(t, "../deploy/Dockerfile"))
	set := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^ARG (\w+)=(\S+)$`).FindAllStringSubmatch(image, -1) {
		set[m[1]] = m[2]
	}
	builds := []map[string]string{set}
	for _, example := range regexp.MustCompile(`(?m)^# +docker build .*--build-arg.*$`).FindAllString(image, -1) {
		with := maps.Clone(set)
		for _, m := range regexp.MustCompile(`--build-arg (\w+)=(\S+)`).FindAllStringSubmatch(example, -1) {
			if set[m[1]] == "" {
				t.Errorf("%q sets %s, which is no ARG", example, m[1])
			}
			with[m[1]] = m[2]
		}
		builds = append(builds, with)
	}
	if len(builds) != 2 || !strings.Contains(image, `go build -C "$MODULE" -trimpath -buildvcs=false -o /out/program "$PACKAGE"`) {
		t.Fatalf("got the builds %v; want the default and one example of: %s", builds, image)
	}
	for _, b := range builds {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-C", filepath.Join("..", b["MODULE"]), "-f", "{{.Name}}", b["PACKAGE"]).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "main" {
			t.Errorf("%v: got the package %s, %v; want a program", b, out, err)
		}
	}
	from := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+) AS build$`).FindStringSubmatch(image)
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(read(t, "../go.mod")))
	if from == nil || want == nil || from[1] != want[1] {
		t.Errorf("the image has Go %v, and go.mod %v; want the same", from, want)
	}
}

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

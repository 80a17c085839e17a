package upgrade_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/open"
)

// fleet is processes of two versions of a program on one saver.
type fleet struct {
	t     *testing.T
	url   string
	saver checkpoint.Saver
	dir   string // of the programs
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir()}
	f.url = "sqlite://" + filepath.ToSlash(f.dir) + "/threads.db"
	out, err := exec.Command("go", "build", "-o", f.dir, "./old", "./new").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if f.saver, err = open.Saver(t.Context(), f.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.saver.Close() })
	return f
}

// process is a process of one version.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.WriteCloser
	lines chan string // closed when the process ends
	left  []string    // the lines on threads that it left
}

func (f *fleet) start(version string) *process {
	f.t.Helper()
	p := &process{t: f.t, cmd: exec.CommandContext(f.t.Context(), filepath.Join(f.dir, version), f.url), lines: make(chan string, 10_000)}
	p.cmd.Stderr = f.t.Output()
	var err error
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	})
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p
}

// until reads lines until one begins with the prefix, and returns the rest of that one.
func (p *process) until(prefix string) string {
	p.t.Helper()
	for line := range p.lines {
		if strings.HasPrefix(line, "left ") {
			p.left = append(p.left, line)
		}
		if rest, found := strings.CutPrefix(line, prefix); found {
			return strings.TrimSpace(rest)
		}
	}
	p.t.Fatalf("the process ended without a line %q", prefix)
	return ""
}

// submit submits a thread for each id.
func (p *process) submit(name string, ids ...string) {
	p.t.Helper()
	for _, id := range ids {
		fmt.Fprintf(p.input, "submit %s %s\n", name, id)
		p.until("submitted " + id)
	}
}

// shown is the state of a thread, with the fields of all states.
type shown struct {
	Owner, Label string
	Steps        []string
}

func (p *process) show(name, id string) (status string, s shown) {
	p.t.Helper()
	fmt.Fprintf(p.input, "show %s %s\n", name, id)
	status, raw, _ := strings.Cut(p.until("state "+id), " ")
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		p.t.Fatalf("%s: %v", raw, err)
	}
	return status, s
}

// stop lets the process end its runs.
func (p *process) stop() {
	p.t.Helper()
	_ = p.input.Close()
	for line := range p.lines {
		if strings.HasPrefix(line, "left ") {
			p.left = append(p.left, line)
		}
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%s: %v", p.cmd.Path, err)
	}
}

// kill kills the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	_ = p.cmd.Wait() // it was killed
}

// await waits until so many threads have a status.
func (f *fleet) await(status checkpoint.Status, n int) {
	f.t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		var others []string
		found := 0
		for th, err := range f.saver.Threads(f.t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				f.t.Fatal(err)
			}
			if th.Status == status {
				found++
			} else {
				others = append(others, fmt.Sprintf("%s of %s: %s, due %s", th.ID, th.Graph, th.Status, th.Wake))
			}
		}
		if found >= n {
			return
		}
		if time.Since(began) > 2*time.Minute {
			f.t.Fatalf("got %d threads %s, want %d; the others:\n%s", found, status, n, strings.Join(others, "\n"))
		}
	}
}

// names returns the graph of each thread, as the saver stores it.
func (f *fleet) names() map[string]string {
	f.t.Helper()
	names := make(map[string]string)
	for th, err := range f.saver.Threads(f.t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		names[th.ID] = th.Graph
	}
	return names
}

func ids(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return all
}

// The steps of a thread, whichever versions have run it.
var (
	parcelSteps = regexp.MustCompile(`^check (by Ada )?(weigh|measure) pack (label )?send$`)
	letterSteps = regexp.MustCompile(`^stamp 0\.95 send 0\.95$`)
)

// The replicas of a fleet are replaced one after another, under load. One old and one new replica
// are killed. Each thread ends, and each of its nodes is committed once.
func TestOldAndNewReplicasShareThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs processes of two versions")
	}
	n := 20
	f := newFleet(t)
	old := []*process{f.start("old"), f.start("old")}
	parcels, letters := ids("parcel", 3*n), ids("letter", 3*n)
	submit := func(p *process, part int) {
		p.submit("parcels", parcels[part*n:(part+1)*n]...)
		p.submit("letters", letters[part*n:(part+1)*n]...)
	}
	submit(old[0], 0)
	doomed := f.start("new")
	submit(old[1], 1)
	old[0].kill()
	submit(doomed, 2)
	doomed.kill()
	next := []*process{f.start("new"), f.start("new")}
	old[1].stop() // it finishes the steps that it has begun
	f.await(graph.Done, 6*n)

	names, both, kept := f.names(), map[string]int{}, 0
	last := f.start("old")
	for _, id := range parcels {
		status, s := next[0].show("parcels", id)
		steps := strings.Join(s.Steps, " ")
		if both[steps]++; status != "done" || !parcelSteps.MatchString(steps) || names[id] != "parcels" {
			t.Errorf("%s of %s: got %s with the steps %q, want it done with each step once", id, names[id], status, steps)
		}
		// The new version does not have the field Owner. It keeps the value that the old version
		// has set.
		_, before := last.show("parcels", id)
		if owned := s.Steps[0] == "check by Ada"; owned != (before.Owner == "Ada") {
			t.Errorf("%s: got the owner %q with the steps %q, want Ada if the old version has set it", id, before.Owner, s.Steps)
		} else if owned && s.Label != "" {
			kept++
		}
	}
	for _, id := range letters {
		status, s := next[1].show("letters", id)
		steps := strings.Join(s.Steps, " ")
		if status != "done" || !letterSteps.MatchString(steps) {
			t.Errorf("%s of %s: got %s with the steps %q, want it done with each step once", id, names[id], status, steps)
		}
		if both[names[id]]++; names[id] != "letters" && names[id] != "post" {
			t.Errorf("%s: got the graph %s, want letters, or post after the new version has taken it", id, names[id])
		}
	}
	last.stop()
	for _, p := range next {
		p.stop()
	}
	t.Logf("parcels by their steps, and letters by their graphs: %v; the new version finished %d parcels of the old one; the old replica left %d threads",
		both, kept, len(old[1].left))
}

// A worker leaves threads that it cannot read, and says so. They wait for a replica of the new
// version.
func TestOldReplicasLeaveThreadsOfTheNewVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs processes of two versions")
	}
	f := newFleet(t)
	first := f.start("new")
	first.submit("parcels", "late-1") // it stops at a node that the old version does not have
	f.await(graph.Waiting, 1)
	first.stop()

	old := f.start("old")
	if why := old.until("left late-1"); !strings.Contains(why, `"label"`) {
		t.Errorf("got the reason %q, want it to name the node", why)
	}
	old.submit("parcels", ids("parcel", 3)...)
	f.await(graph.Done, 3) // what the old version can run, it runs
	second := f.start("new")
	second.submit("faxes", "fax-1")
	second.submit("letters", "letter-1")
	f.await(graph.Done, 6)
	second.stop()
	if got := f.names(); got["fax-1"] != "faxes" || got["parcel-000"] != "parcels" {
		t.Errorf("got the graphs %v, want a fax of faxes and parcels of parcels", got)
	}
	old.stop()
	for _, line := range old.left {
		if !strings.HasPrefix(line, "left late-1 ") {
			t.Errorf("the old replica also left a thread: %s", line)
		}
	}
}

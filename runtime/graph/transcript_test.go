package graph_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Each file in testdata/protocol is the transcript of one scenario: every saver call that a graph
// makes, with what it stores and what it reads. A change of the commit protocol, or of what is
// stored, shows as a change of these files. Rewrite them with
//
//	go test ./runtime/graph -run Transcripts -rewrite
var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata/protocol")

// transcript writes down what happens on one thread. Ids and task keys have short names in it.
type transcript struct {
	mu    sync.Mutex
	b     strings.Builder
	ids   map[checkpoint.ID]string
	keys  []string          // of tasks, as they were heard of
	tasks map[string]string // by key, of those that ran
	seen  map[string]int    // by what a task is called
}

func (tr *transcript) printf(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	fmt.Fprintf(&tr.b, format+"\n", args...)
}

// id returns the name of a record: r1 is the first that was heard of.
func (tr *transcript) id(id checkpoint.ID) string {
	if id.IsZero() {
		return "none"
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.ids[id] == "" {
		tr.ids[id] = fmt.Sprint("r", len(tr.ids)+1)
	}
	return tr.ids[id]
}

// task returns what stands for a task key until the end, when text knows what ran under it. The
// name of a subgraph call is that of its task and something that differs from one run to the next.
func (tr *transcript) task(key string) string {
	if len(key) < 32 {
		return key
	}
	if task, _, isCall := strings.Cut(key, "-"); isCall {
		return tr.task(task) + "'s call"
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if !slices.Contains(tr.keys, key) {
		tr.keys = append(tr.keys, key)
	}
	return key
}

// text returns the transcript with a name for each task key: the node that ran under it and its
// step.
func (tr *transcript) text() string {
	var names []string
	for i, key := range tr.keys {
		name, ok := tr.tasks[key]
		if !ok {
			name = fmt.Sprint("task", i+1)
		}
		names = append(names, key, name)
	}
	for id, name := range tr.ids {
		names = append(names, id.String(), name) // in errors
	}
	return hashes.ReplaceAllString(strings.NewReplacer(names...).Replace(tr.b.String()), "hash")
}

// hashes are names that are made of task keys.
var hashes = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// namespace returns the names of the tasks that a namespace is made of.
func (tr *transcript) namespace(ns string) string {
	if ns == "" {
		return "root"
	}
	parts := strings.Split(ns, "/")
	for i := range parts {
		parts[i] = tr.task(parts[i])
	}
	return strings.Join(parts, "/")
}

func (tr *transcript) record(r *checkpoint.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    record %s: %s step %d", tr.id(r.ID), r.Source, r.Step)
	for _, link := range []struct {
		name string
		id   checkpoint.ID
	}{{"parent", r.Parent}, {"base", r.Base}, {"line", r.Line}, {"commits", r.Commits}} {
		if !link.id.IsZero() && link.id != r.ID {
			fmt.Fprintf(&b, ", %s %s", link.name, tr.id(link.id))
		}
	}
	if len(r.Ran) > 0 {
		fmt.Fprintf(&b, ", ran %s", strings.Join(r.Ran, " "))
	}
	if r.Request != "" {
		fmt.Fprintf(&b, ", request %q", r.Request)
	}
	for _, t := range r.Due {
		fmt.Fprintf(&b, "\n      due %s", t.Node)
		if t.Payload != nil {
			fmt.Fprintf(&b, "[%d] %s", t.Index, tr.payload(t.Payload))
		}
	}
	if len(r.PendingRoutes) > 0 {
		fmt.Fprintf(&b, "\n      pending routes %v", r.PendingRoutes)
	}
	if len(r.ClearedStops) > 0 {
		fmt.Fprintf(&b, "\n      cleared stops %v", r.ClearedStops)
	}
	for _, j := range r.Joins {
		fmt.Fprintf(&b, "\n      join to %s, reached by %v", j.To, j.Fired)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Meta)) {
		fmt.Fprintf(&b, "\n      meta %s %s", name, tr.meta(name, r.Meta[name]))
	}
	kind := "delta"
	if r.Snapshot {
		kind = "snapshot"
	}
	fmt.Fprintf(&b, "\n      %s %s", kind, tr.payload(r.Payload))
	return b.String()
}

// meta describes a value of Meta; the ids and hashes in it differ from one run to the next.
func (tr *transcript) meta(name, value string) string {
	switch {
	case strings.HasPrefix(name, "again:") && len(value) == 16:
		return tr.id(checkpoint.ID([]byte(value)))
	case strings.HasPrefix(name, "memory:"):
		return tr.namespace(value)
	case name == "schemas" && len(value) == 8:
		return "of all its graphs"
	case name == "input":
		return fmt.Sprintf("hash of %d bytes", len(value))
	}
	return fmt.Sprintf("%q", value)
}

func (tr *transcript) write(w *checkpoint.Write) string {
	if w.Kind == checkpoint.Schema {
		return fmt.Sprintf("    schema of %s", w.Task)
	}
	text := fmt.Sprintf("    %s of %s", w.Kind, tr.task(w.Task))
	if w.Name != "" {
		text += fmt.Sprintf(" named %q", w.Name)
	}
	if w.Namespace != "" {
		text += " in " + tr.namespace(w.Namespace)
	}
	text += ", base " + tr.id(w.Base)
	switch {
	case w.Kind == checkpoint.Failure && !strings.HasPrefix(w.Name, "attempt#"):
		text += fmt.Sprintf(": %s", strings.SplitN(string(w.Payload), "\n", 2)[0])
	case w.Kind == checkpoint.Outcome && strings.HasSuffix(w.Name, "/out"):
		text += ": its queue, node and time" // and the birth of the thread, which differs from one run to the next
	case len(w.Payload) > 0:
		text += ": " + tr.payload(w.Payload)
	}
	return text
}

// payload describes MessagePack, one value after another.
func (tr *transcript) payload(b []byte) string {
	values, err := decodeAll(b)
	if err != nil {
		return fmt.Sprintf("%q", b)
	}
	return strings.Join(values, " ")
}

func decodeAll(b []byte) (values []string, err error) {
	d := msgpack.NewDecoder(bytes.NewReader(b))
	d.SetMapDecoder(func(d *msgpack.Decoder) (any, error) { return d.DecodeUntypedMap() })
	for {
		v, err := d.DecodeInterface()
		if errors.Is(err, io.EOF) && len(values) > 0 {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, describe(v))
	}
}

func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		if text := string(v); strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			return fmt.Sprintf("<%q>", text)
		}
		if inner, err := decodeAll(v); err == nil {
			return "<" + strings.Join(inner, " ") + ">"
		}
		return fmt.Sprintf("<%q>", v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = describe(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[any]any:
		parts := make([]string, 0, len(v))
		for k, e := range v {
			parts = append(parts, describe(k)+":"+describe(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v)
}

// scene is one thread whose saver calls are written down.
type scene struct {
	*transcript
	t     *testing.T
	d     graph.Durability
	saver *transcribed
}

// node is a node that takes some time, so that nodes end in a known order, logs its name, and
// makes its task known.
func (sc *scene) node(name string, d time.Duration) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		sc.runs(ctx)
		time.Sleep(d)
		return logged(name), nil
	}
}

// runs makes the task of ctx known by its node and step.
func (sc *scene) runs(ctx context.Context) {
	task := graph.CurrentTask(ctx)
	sc.mu.Lock()
	defer sc.mu.Unlock()
	name := fmt.Sprintf("%s@%d", task.Node, task.Step)
	if task.Index > 0 {
		name += fmt.Sprintf("[%d]", task.Index)
	}
	if sc.tasks[task.Key] != "" {
		return
	}
	if sc.seen[name]++; sc.seen[name] > 1 {
		name += fmt.Sprintf("#%d", sc.seen[name])
	}
	sc.tasks[task.Key] = name
}

func (sc *scene) thread(b *graph.Builder[work, update], opts ...graph.Option) thread {
	return compile(sc.t, b, append([]graph.Option{graph.Saver(sc.saver), graph.Holder("host"), sc.d}, opts...)...).Thread("t")
}

// did writes down what a call returned.
func (sc *scene) did(what string) func(result, error) result {
	return func(res result, err error) result {
		if err != nil {
			sc.printf("%s: error: %s\n", what, strings.SplitN(err.Error(), "\n", 2)[0])
			return res
		}
		sc.printf("%s: %s at %s, next %v, waiting for %d, log %v\n", what, res.Status, sc.id(res.Checkpoint), res.Next, len(res.Questions), res.State.Log)
		return res
	}
}

func (sc *scene) edited(what string) func(checkpoint.ID, error) checkpoint.ID {
	return func(id checkpoint.ID, err error) checkpoint.ID {
		sc.printf("%s: %s%s\n", what, sc.id(id), failed(err))
		return id
	}
}

func TestTranscripts(t *testing.T) {
	for name, play := range scenes {
		t.Run(name, func(t *testing.T) {
			eachDurability(t, func(t *testing.T, d graph.Durability) {
				tr := &transcript{ids: map[checkpoint.ID]string{}, tasks: map[string]string{}, seen: map[string]int{}}
				synctest.Test(t, func(t *testing.T) {
					s := memory.New()
					play(&scene{transcript: tr, t: t, d: d, saver: &transcribed{s, tr}})
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				checkTranscript(t, filepath.Join("testdata", "protocol", name+".txt"), fmt.Sprintf("== %s\n\n", d), tr.text())
			})
		})
	}
}

// checkTranscript compares got with the section of the file that starts with head.
func checkTranscript(t *testing.T, path, head, got string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil && !*rewrite {
		t.Fatalf("%v; make it by go test ./runtime/graph -run Transcripts -rewrite", err)
	}
	before, rest, _ := strings.Cut(string(file), head)
	want, after, more := strings.Cut(rest, "\n== ")
	if more {
		want, after = want+"\n", "== "+after
	}
	switch {
	case *rewrite:
		if err := os.WriteFile(path, []byte(before+head+got+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != want:
		same(t, path+" differs; if that is meant, go test ./runtime/graph -run Transcripts -rewrite", strings.Split(got, "\n"), strings.Split(want, "\n"))
	}
}

func TestEachTranscriptHasAScene(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "protocol", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".txt"); scenes[name] == nil {
			t.Errorf("%s: no scene has this name; remove the file", f)
		}
	}
}

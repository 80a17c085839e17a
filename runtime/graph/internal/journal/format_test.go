package journal_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// golden checks something that is stored. Threads that wait have it in that form.
func golden(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is stored as\n\t%q, and was\n\t%q\n"+
			"If that is meant, bump the number of the format, so that older threads are refused, and change the test.", what, got, want)
	}
}

// id returns an id whose bytes are all b.
func id(b byte) (id checkpoint.ID) {
	for i := range id {
		id[i] = b
	}
	return id
}

func TestStoredTaskKeys(t *testing.T) {
	golden(t, "a task key", journal.TaskKey(id(1), "", 2, "node", 0), "514b7722ebbd0ab24b3aeecb66cfc3af")
	golden(t, "the key of a send's task", journal.TaskKey(id(1), "", 2, "node", 300), "86ca55b7a2d84a2620cc320836e7b3ad")
	golden(t, "the key of a task in a call", journal.TaskKey(id(1), "aa/bb", 300, "node", 1), "ba78c61901d2b22cf40e0646c122ba58")
	rec := &checkpoint.Record{ID: id(2), Base: id(3), Line: id(1), Step: 1}
	due := checkpoint.Task{Node: "node", Index: 300}
	golden(t, "the key of a due task", journal.DueKey(rec, "", due), journal.TaskKey(id(1), "", 2, "node", 300))
	golden(t, "the key of a due task in a call", journal.DueKey(rec, "aa-01/bb-02", due), journal.TaskKey(id(1), "aa/bb", 2, "node", 300))
}

// TestTaskKeysDiffer joins names that would be the same without their lengths.
func TestTaskKeysDiffer(t *testing.T) {
	keys := map[string]bool{}
	for _, key := range []string{
		journal.TaskKey(id(1), "", 1, "ab", 0), journal.TaskKey(id(2), "", 1, "ab", 0), journal.TaskKey(id(1), "a", 1, "b", 0),
		journal.TaskKey(id(1), "ab", 1, "", 0), journal.TaskKey(id(1), "", 2, "ab", 0), journal.TaskKey(id(1), "", 1, "ab", 1),
		journal.TaskKey(id(1), "", 1, "a\x00b", 0), journal.TaskKey(id(1), "", 1, "ab\x00", 0),
	} {
		if keys[key] {
			t.Errorf("two tasks have the key %s", key)
		}
		keys[key] = true
	}
}

func TestStoredNamespaces(t *testing.T) {
	golden(t, "a call's name", journal.CallName("key", id(1), checkpoint.ID{}), "key-cc8cd41cef907c4d")
	golden(t, "the name of a call that began again", journal.CallName("key", id(1), id(2)), "key-f03f702d6016a19c")
	golden(t, "a namespace", journal.Within("", "a-1"), "a-1")
	golden(t, "a namespace in another", journal.Within("a-1/b-2", "c-3"), "a-1/b-2/c-3")
	golden(t, "a scope", journal.Scope("a-1/b-2/c-3"), "a/b/c")
	golden(t, "the scope of the run", journal.Scope(""), "")
	golden(t, "the task of a stop", journal.StopTask, "stop")
	golden(t, "the name of a summary", journal.SummaryName, "summary")
	golden(t, "the name of an attempt", journal.AttemptName(23), "attempt#3")
	golden(t, "an attempt", fmt.Sprintf("%x", journal.AppendAttempt(nil, &journal.StoredAttempt{Ordinal: 23, Number: 3, Failed: time.Unix(1, 0), Worker: "w", Text: "t", Stack: "s"})),
		"961703d6ff00000001a177a174a173")
	golden(t, "the name of an update of a failed attempt", journal.KeptName(12), "kept:12")
	golden(t, "the name of a step's part", journal.StepName(12), "12")

	rec := &checkpoint.Record{ID: id(2), Base: id(3), Line: id(1), Step: 1, Meta: map[string]string{}}
	due := checkpoint.Task{Node: "node"}
	key := journal.DueKey(rec, "aa-01", due)
	golden(t, "the call of a due task", journal.DueCall(rec, "aa-01", due), journal.CallName(key, id(3), checkpoint.ID{}))
	journal.SetAgain(rec.Meta, key, id(4))
	golden(t, "the call of a due task that began again", journal.DueCall(rec, "aa-01", due), journal.CallName(key, id(3), id(4)))
}

func TestStoredMeta(t *testing.T) {
	meta := map[string]string{}
	journal.SetMemory(meta, "node", "a-1/b-2")
	journal.SetAgain(meta, "key", id('i'))
	journal.SetNext(meta, []byte("targets"))
	journal.SetInput(meta, []byte("input"))
	journal.SetSchemas(meta, 0x0102030405060708)
	journal.SetFormat(meta)
	journal.SetMetadata(meta, "key", "value")
	for name, want := range map[string]string{
		"memory:node": "a-1/b-2",
		"again:key":   "iiiiiiiiiiiiiiii",
		"next":        "targets",
		"schemas":     "\x01\x02\x03\x04\x05\x06\a\b",
		"format":      "3",
		"user:key":    "value",
		"input":       "\xc9lm[\xe8Њ\x12\xe7\xb5\xcd\xc1\xb2\a\xfak",
	} {
		golden(t, "Meta "+name, meta[name], want)
	}
	if len(meta) != 7 {
		t.Errorf("Meta has %d names, want 7: %q", len(meta), slices.Sorted(maps.Keys(meta)))
	}
}

func TestStoredPayloads(t *testing.T) {
	updates, err := journal.AppendUpdates(nil, 2, func(i int, b []byte) ([]byte, error) { return append(b, byte(i), 'u'), nil })
	if err != nil {
		t.Fatal(err)
	}
	targets := []journal.Target{{Node: "a"}, {Node: "b", Sent: []byte("sent")}, {Node: "c", Sent: []byte{}}}
	question := journal.Question{Path: []journal.PathElement{{Node: "sub"}, {Node: "inner", Index: 7}}, Node: "ask", Index: 300, Name: "approve", Payload: []byte("why")}
	for _, test := range []struct {
		what string
		got  []byte
		want string
	}{
		{"no updates", must(journal.AppendUpdates(nil, 0, nil)), "90"},
		{"two updates", updates, "92c4020075c4020175"},
		{"no targets", journal.AppendTargets(nil, nil), "90"},
		{"targets", journal.AppendTargets(nil, targets), "9392a161c092a162c40473656e7492a163c400"},
		{"a choice", journal.AppendChoice(nil, []byte("update"), targets), "94c40675706461746592a161c092a162c40473656e7492a163c400"},
		{"a choice without an update", journal.AppendChoice(nil, nil, nil), "91c400"},
		{"a question", journal.AppendQuestion(nil, question), "959292a37375620092a5696e6e657207a361736bcd012ca7617070726f7665c403776879"},
		{"a question of a task with a summary", journal.AppendQuestion(nil, journal.Question{Node: "n", Summary: "s"}), "9690a16e00a0c0a173"},
		{"no stops", journal.AppendStops(nil, nil), "90"},
		{"a stop in a subgraph", journal.AppendStops(nil, []journal.Stop{{Path: []journal.PathElement{{Node: "sub", Index: 2}}, Node: "y"}}), "91939192a373756202a179c2"},
		{"a stop after a node", journal.AppendStops(nil, []journal.Stop{{Node: "a", After: true}}), "919390a161c3"},
		{"a durable call", journal.AppendCall(nil, journal.DurableCall{Number: 300, Value: []byte("result")}), "92cd012cc406726573756c74"},
		{"a signal", journal.AppendSignal(nil, &checkpoint.Message{
			Number: 7, ID: "e", Name: "paid", Key: "k", Posted: time.Unix(1, 0), Payload: []byte{0xc3},
		}), "9607a165a470616964a16bd6ff00000001c401c3"},
		{"a durable call without a number", journal.AppendCall(nil, journal.DurableCall{Value: []byte{}}), "9200c400"},
		{"a question that expires", journal.AppendQuestion(nil, journal.Question{Node: "n", Due: time.Unix(1, 0)}), "9790a16e00a0c0a0d6ff00000001"},
		{"a question of a branch that was left", journal.SetLeft(journal.AppendQuestion(nil, journal.Question{}), true), "919590a000a0c0"},
		{"an empty question", journal.AppendQuestion(nil, journal.Question{}), "9590a000a0c0"},
	} {
		golden(t, test.what, hex.EncodeToString(test.got), test.want)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestMetaReadsWhatItStores(t *testing.T) {
	var none map[string]string
	if m, a, n := journal.Memory(none), journal.AllAgain(none), journal.Next(none); m != nil || a != nil || n != nil {
		t.Errorf("of no Meta: %v, %v, %v; want nothing", m, a, n)
	}
	if _, known := journal.SameInput(none, nil); known {
		t.Error("no Meta has a known input")
	}
	meta := map[string]string{}
	journal.SetMemory(meta, "", "a")
	journal.SetMemory(meta, "memory:", "b")
	journal.SetAgain(meta, "key", id(1))
	journal.SetNext(meta, nil)
	journal.SetInput(meta, []byte("input"))
	if got, want := journal.Memory(meta), map[string]string{"": "a", "memory:": "b"}; !maps.Equal(got, want) {
		t.Errorf("Memory: %v, want %v", got, want)
	}
	if got, want := journal.AllAgain(meta), map[string]checkpoint.ID{"key": id(1)}; !maps.Equal(got, want) {
		t.Errorf("AllAgain: %v, want %v", got, want)
	}
	if got := journal.Next(meta); got == nil || len(got) > 0 {
		t.Errorf("Next: %v, want empty and not nil", got)
	}
	journal.SetSchemas(meta, 1<<63)
	if got := journal.Schemas(meta); got != 1<<63 {
		t.Errorf("Schemas: %d, want %d", got, uint64(1<<63))
	}
	if got := journal.Schemas(map[string]string{"schemas": "short"}); got != 0 {
		t.Errorf("Schemas of what nothing stores: %d, want 0", got)
	}
	for input, want := range map[string]bool{"input": true, "other": false} {
		if same, known := journal.SameInput(meta, []byte(input)); same != want || !known {
			t.Errorf("SameInput(%q): %t, %t; want %t, true", input, same, known, want)
		}
	}
}

func TestAnotherFormatIsReportedWithBothNumbers(t *testing.T) {
	meta := map[string]string{}
	journal.SetFormat(meta)
	if err := journal.CheckFormat(meta); err != nil {
		t.Errorf("CheckFormat of what SetFormat stored: %v", err)
	}
	for stored, want := range map[string]string{"": "format 1", "1": "format 1", "2": "format 2"} {
		err := journal.CheckFormat(map[string]string{"format": stored})
		if err == nil || !strings.Contains(err.Error(), want+",") || !strings.HasSuffix(err.Error(), "format 3") {
			t.Errorf("CheckFormat of %q: %v, want an error with %s and format 3", stored, err, want)
		}
	}
}

func TestCallIn(t *testing.T) {
	for _, test := range []struct{ namespace, inner, want string }{
		{"", "", ""}, {"", "a-1", "a-1"}, {"", "a-1/b-2/c-3", "a-1"},
		{"a-1", "a-1", ""}, {"a-1", "a-1/b-2", "b-2"}, {"a-1", "a-1/b-2/c-3", "b-2"},
		{"a-1", "a-11/b-2", ""}, {"a-1", "", ""}, {"a-1/b-2", "a-1", ""}, {"a-1", "c-3/a-1/b-2", ""},
	} {
		if got := journal.CallIn(test.namespace, test.inner); got != test.want {
			t.Errorf("CallIn(%q, %q): %q, want %q", test.namespace, test.inner, got, test.want)
		}
	}
}

// TestMalformedPayloadsAreReported decodes what no code wrote.
func TestMalformedPayloadsAreReported(t *testing.T) {
	for decoder, decode := range decoders {
		for what, b := range map[string]string{
			"nothing":               "",
			"no array":              "\xc0",
			"a length without data": "\xdd\x00\xff\xff\xff",
			"bytes behind":          "\x90\xc0",
			"text for binary":       "\x91\xa1a",
			"too deep":              "\x91\x91\x91\x91\x91\x91",
		} {
			t.Run(decoder+" of "+what, func(t *testing.T) { wantMalformed(t, decode([]byte(b))) })
		}
	}
	for name, b := range map[string]string{
		"choice":   "\x90\xc4\x00",                                    // without an update
		"targets":  "\x91\x91\xa1a",                                   // a target that says nothing of what is sent
		"question": "\x95\x91\xa1a\xa1b\xa1c\xa1d\xc0",                // an index that is text
		"updates":  string(wire.AppendBytes([]byte{0x91}, nil)) + "x", // data behind the last update
	} {
		t.Run(name, func(t *testing.T) { wantMalformed(t, decoders[name]([]byte(b))) })
	}
}

// decoders are those of payloads.
var decoders = map[string]func([]byte) error{
	"updates": func(b []byte) error { return journal.ReadUpdates(b, func([]byte) error { return nil }) },
	"targets": func(b []byte) error { return journal.ReadTargets(b, func(journal.Target) error { return nil }) },
	"choice": func(b []byte) error {
		_, err := journal.ReadChoice(b, func(journal.Target) error { return nil })
		return err
	},
	"question": func(b []byte) error {
		_, err := journal.ReadQuestion(b)
		return err
	},
}

// wantMalformed checks that err says that the bytes are not as anything is stored.
func wantMalformed(t *testing.T, err error) {
	t.Helper()
	var at *wire.Error
	if !errors.As(err, &at) || !at.Malformed() {
		t.Errorf("got the error %v, want a *wire.Error of malformed data", err)
	}
}

// TestDecodersStopAtTheErrorOfTheirCallback returns an error for the second of three.
func TestDecodersStopAtTheErrorOfTheirCallback(t *testing.T) {
	stop := errors.New("stop")
	targets := []journal.Target{{Node: "a"}, {Node: "b"}, {Node: "c"}}
	updates := must(journal.AppendUpdates(nil, 3, func(_ int, b []byte) ([]byte, error) { return append(b, 'u'), nil }))
	var calls int
	second := func() error {
		if calls++; calls == 2 {
			return stop
		}
		return nil
	}
	for decoder, decode := range map[string]func() error{
		"updates": func() error { return journal.ReadUpdates(updates, func([]byte) error { return second() }) },
		"targets": func() error {
			return journal.ReadTargets(journal.AppendTargets(nil, targets), func(journal.Target) error { return second() })
		},
		"choice": func() error {
			_, err := journal.ReadChoice(journal.AppendChoice(nil, nil, targets), func(journal.Target) error { return second() })
			return err
		},
	} {
		calls = 0
		if err := decode(); !errors.Is(err, stop) || calls != 2 {
			t.Errorf("%s: %v after %d calls, want the callback's error after 2", decoder, err, calls)
		}
	}
	if _, err := journal.AppendUpdates(nil, 2, func(int, []byte) ([]byte, error) { return nil, stop }); !errors.Is(err, stop) {
		t.Errorf("AppendUpdates: %v, want the callback's error", err)
	}
}

package journal_test

import (
	"bytes"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// fuzzDecoder reads arbitrary bytes. Nothing may panic, and allocations must be in proportion to
// the bytes. An error must be a *wire.Error of malformed data. A value that was read must be the
// same after encoding and decoding.
func fuzzDecoder[T any](f *testing.F, decode func(b []byte) (T, error), encode func(T) []byte) {
	f.Helper()
	for _, b := range []string{
		"", "\xc0", "\x90", "\x90\xc4\x00", "\x92\xc4\x02\x00u\xc4\x02\x01u", "\x91\xc0", "\xdd\xff\xff\xff\xff\xa1a",
		"\x93\x92\xa1a\xc0\x92\xa1b\xc4\x04sent\x92\xa1c\xc4\x00", "\x94\xc4\x06update\x92\xa1a\xc0\x92\xa1b\xc4\x04sent\x92\xa1c\xc4\x00",
		"\x95\x92\xa3sub\xa5inner\xa3ask\xcd\x01,\xa7approve\xc4\x03why", "\x95\x90\xa0\x00\xa0\xc0", "\x95\xdd\x00\x00\x00\x05\xa1a\xa1a",
		"\x91\x93\x91\xa3sub\xa1y\xc2", "\x92\x03\xc4\x01r", "\x92\xff\xc4\x01r", "\x92\x00\xc0",
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := decode(b)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<17+600*len(b)); got > most {
			t.Errorf("%d bytes made it allocate %d bytes, want at most %d", len(b), got, most)
		}
		if err != nil {
			var at *wire.Error
			if !errors.As(err, &at) || !at.Malformed() || at.Offset > len(b) {
				t.Fatalf("got error %v, want a *wire.Error of malformed data", err)
			}
			return
		}
		stored := encode(v)
		again, err := decode(stored)
		if err != nil {
			t.Fatalf("what it wrote, %x, is not read: %v", stored, err)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Errorf("%x is read as another value (-first +again):\n%s", stored, diff)
		}
		if rewritten := encode(again); !bytes.Equal(rewritten, stored) {
			t.Errorf("the same value is written as %x and %x", stored, rewritten)
		}
	})
}

func FuzzReadUpdates(f *testing.F) {
	fuzzDecoder(f, func(b []byte) (updates [][]byte, err error) {
		err = journal.ReadUpdates(b, func(update []byte) error {
			updates = append(updates, append([]byte{}, update...))
			return nil
		})
		return updates, err
	}, func(updates [][]byte) []byte {
		b, err := journal.AppendUpdates(nil, len(updates), func(i int, b []byte) ([]byte, error) { return append(b, updates[i]...), nil })
		if err != nil {
			f.Error(err)
		}
		return b
	})
}

func FuzzReadTargets(f *testing.F) {
	fuzzDecoder(f, func(b []byte) (targets []journal.Target, err error) {
		err = journal.ReadTargets(b, func(t journal.Target) error {
			targets = append(targets, t)
			return nil
		})
		return targets, err
	}, func(targets []journal.Target) []byte { return journal.AppendTargets(nil, targets) })
}

// choice is what ReadChoice reads.
type choice struct {
	Update  []byte
	Targets []journal.Target
}

func FuzzReadChoice(f *testing.F) {
	fuzzDecoder(f, func(b []byte) (c choice, err error) {
		c.Update, err = journal.ReadChoice(b, func(t journal.Target) error {
			c.Targets = append(c.Targets, t)
			return nil
		})
		c.Update = append([]byte{}, c.Update...)
		return c, err
	}, func(c choice) []byte { return journal.AppendChoice(nil, c.Update, c.Targets) })
}

func FuzzReadQuestion(f *testing.F) {
	fuzzDecoder(f, journal.ReadQuestion, func(q journal.Question) []byte { return journal.SetLeft(journal.AppendQuestion(nil, q), q.Left) })
}

func FuzzReadAttempt(f *testing.F) {
	fuzzDecoder(f, journal.ReadAttempt, func(a journal.StoredAttempt) []byte { return journal.AppendAttempt(nil, &a) })
}

func FuzzReadSignal(f *testing.F) {
	fuzzDecoder(f, journal.ReadSignal, func(m checkpoint.Message) []byte { return journal.AppendSignal(nil, &m) })
}

func FuzzReadCall(f *testing.F) {
	fuzzDecoder(f, journal.ReadCall, func(c journal.DurableCall) []byte { return journal.AppendCall(nil, c) })
}

func FuzzReadStops(f *testing.F) {
	fuzzDecoder(f, journal.ReadStops, func(stops []journal.Stop) []byte { return journal.AppendStops(nil, stops) })
}

// FuzzMeta reads arbitrary Meta, and adds to it what a run stores.
func FuzzMeta(f *testing.F) {
	f.Add("memory:node", "a-1/b-2", "again:key", "iiiiiiiiiiiiiiii", "key", []byte("targets"))
	f.Add("next", "", "input", "short", "", []byte{})
	f.Add("again:", "longer than an id is", "memory:", "", "memory:", []byte(nil))
	f.Fuzz(func(t *testing.T, name, value, name2, value2, key string, b []byte) {
		meta := map[string]string{name: value, name2: value2}
		before := maps.Clone(meta)
		for key, id := range journal.AllAgain(meta) {
			if got := journal.Again(meta, key); got != id {
				t.Errorf("Again(%q) is %s, and AllAgain has %s", key, got, id)
			}
		}
		for node, namespace := range journal.Memory(meta) {
			if meta["memory:"+node] != namespace {
				t.Errorf("Memory has %q of node %q, and Meta is %q", namespace, node, meta)
			}
		}
		for key, value := range journal.Metadata(meta) {
			if meta["user:"+key] != value {
				t.Errorf("Metadata has %q under %q, and Meta is %q", value, key, meta)
			}
		}
		_, _ = journal.SameInput(meta, b)
		if next := journal.Next(meta); (next == nil) == (name == "next" || name2 == "next") {
			t.Errorf("Next returns %q of %q", next, meta)
		}
		if !maps.Equal(meta, before) {
			t.Errorf("reading changed Meta from %q to %q", before, meta)
		}

		resume := checkpoint.ID{1, 2, 3}
		journal.SetMemory(meta, key, value)
		journal.SetAgain(meta, key, resume)
		journal.SetNext(meta, b)
		journal.SetInput(meta, b)
		journal.SetMetadata(meta, key, value2)
		same, known := journal.SameInput(meta, b)
		other, _ := journal.SameInput(meta, append(slices.Clone(b), 0))
		if !same || !known || other {
			t.Errorf("SameInput is %t, %t, and for another input %t; want the first two true", same, known, other)
		}
		if journal.Memory(meta)[key] != value || journal.Again(meta, key) != resume || journal.AllAgain(meta)[key] != resume || journal.Metadata(meta)[key] != value2 ||
			string(journal.Next(meta)) != string(b) {
			t.Errorf("Meta %q does not have what was stored", meta)
		}
	})
}

// FuzzNamespaces names calls in arbitrary namespaces.
func FuzzNamespaces(f *testing.F) {
	f.Add("", "key", "a-1")
	f.Add("a-1/b-2", "key", "c-3/d-4")
	f.Add("/", "", "-")
	f.Add("a", "key", "a/")
	f.Fuzz(func(t *testing.T, namespace, key, other string) {
		if scope := journal.Scope(namespace); len(scope) > len(namespace) {
			t.Errorf("the scope of %q is %q, which is longer", namespace, scope)
		}
		if name := journal.CallIn(namespace, other); name != "" && other != journal.Within(namespace, name) &&
			!strings.HasPrefix(other, journal.Within(namespace, name)+"/") {
			t.Errorf("CallIn(%q, %q) is %q, which is not in it", namespace, other, name)
		}
		if strings.ContainsAny(key, "/-") {
			return // the key of a task is hex
		}
		call := journal.CallName(key, checkpoint.ID{1}, checkpoint.ID{})
		inner := journal.Within(namespace, call)
		for _, within := range []string{inner, journal.Within(inner, "x-1"), journal.Within(inner, "x-1/y-2")} {
			if got := journal.CallIn(namespace, within); got != call {
				t.Errorf("CallIn(%q, %q) is %q, want %q", namespace, within, got, call)
			}
		}
		if got := journal.CallIn(inner, namespace); got != "" {
			t.Errorf("CallIn(%q, %q) is %q, want none", inner, namespace, got)
		}
		scope := journal.Scope(namespace)
		if got, want := journal.Scope(inner), scope+"/"+key; got != want && namespace != "" || got != key && namespace == "" {
			t.Errorf("the scope of %q is %q, want %q", inner, got, want)
		}
	})
}

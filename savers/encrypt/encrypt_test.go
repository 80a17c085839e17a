package encrypt_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func key(id string, n byte) encrypt.Key { return encrypt.Key{ID: id, Secret: secret(n)} }

func open(t *testing.T, inner checkpoint.Saver, k encrypt.Key, older ...encrypt.Key) checkpoint.Saver {
	t.Helper()
	s, err := encrypt.New(inner, k, older...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fill stores a thread with two records, a due task with a payload and a pending write. All
// payloads hold text.
func fill(t *testing.T, s checkpoint.Saver, thread, text string) {
	t.Helper()
	first, second := newID(t), newID(t)
	_, err := s.Append(t.Context(), checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{}, End: true, Status: checkpoint.Waiting,
		Records: []checkpoint.Record{
			{ID: first, Base: first, Source: checkpoint.Input, Snapshot: true, Payload: []byte("snapshot " + text)},
			{
				ID: second, Parent: first, Base: second, Source: checkpoint.Loop, Payload: []byte("delta " + text),
				Due: []checkpoint.Task{{Node: "a", Payload: []byte("task " + text)}},
			},
		},
		Writes: []checkpoint.Write{{Base: second, Task: "a", Kind: checkpoint.Question, Payload: []byte("question " + text)}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newID(t *testing.T) checkpoint.ID {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestViaEncrypts posts by another Poster, as a transaction of the caller is one.
func TestViaEncrypts(t *testing.T) {
	inner := memory.New()
	encrypted := open(t, inner, key("1", 1))
	compressed, err := compress.New(encrypted)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(strings.Repeat("secret ", 1000))
	for i, s := range []checkpoint.Saver{encrypted, compressed, worker.Announce(compressed, new(worker.Hub), nil)} {
		thread := strconv.Itoa(i)
		posted, err := checkpoint.PostVia(s, inner).Post(t.Context(), checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{
			{ID: "m", Kind: checkpoint.InputMessage, Payload: payload},
		}})
		if err != nil || posted[0].Err != nil {
			t.Fatal(posted, err)
		}
		stored, err := inner.Mail(t.Context(), checkpoint.MailQuery{Thread: thread})
		if err != nil || bytes.Contains(stored[0].Payload, []byte("secret")) {
			t.Errorf("%T: stored: got %d messages, %v; want no plaintext", s, len(stored), err)
		}
		read, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: thread})
		if err != nil || !bytes.Equal(read[0].Payload, payload) {
			t.Errorf("%T: Mail: got %d messages, %v; want the payload", s, len(read), err)
		}
	}
}

func TestNothingReadableIsStored(t *testing.T) {
	dir := t.TempDir()
	inner, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, inner, key("k", 1))
	fill(t, s, "t", "TOP SECRET")
	_, err = s.Post(t.Context(), checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{
		{ID: "m", Kind: checkpoint.SignalMessage, Payload: []byte("message TOP SECRET")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if mail, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"}); err != nil || string(mail[0].Payload) != "message TOP SECRET" {
		t.Fatalf("Mail returned %+v, %v", mail, err)
	}
	c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil || string(c.Snapshot) != "snapshot TOP SECRET" || len(c.Deltas) != 1 || string(c.Deltas[0]) != "delta TOP SECRET" ||
		string(c.Due[0].Payload) != "task TOP SECRET" || string(c.Writes[0].Payload) != "question TOP SECRET" {
		t.Fatalf("Load returned %+v, %v", c, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if files++; bytes.Contains(b, []byte("SECRET")) {
			t.Errorf("%s has readable text", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("read %d files: %v", files, err)
	}
}

// altered returns the items of a thread after f has changed them.
func altered(s checkpoint.Saver, thread string, f func(item *checkpoint.ExportItem)) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range s.Export(context.Background(), thread, 0) {
			if item.Record != nil {
				r := *item.Record
				item.Record = &r
			}
			if item.Write != nil {
				w := *item.Write
				item.Write = &w
			}
			if f(&item); !yield(item, err) {
				return
			}
		}
	}
}

// An attacker who can write to the storage can move payloads, but then they do not open.
func TestMovedPayloadsAreDamage(t *testing.T) {
	var stored []byte // a payload of the thread "other"
	changes := map[string]func(item *checkpoint.ExportItem){
		"a snapshot of another thread": func(item *checkpoint.ExportItem) {
			if item.Record != nil && item.Record.Snapshot {
				item.Record.Payload = stored
			}
		},
		"a snapshot as a delta": func(item *checkpoint.ExportItem) {
			if item.Record != nil && !item.Record.Snapshot {
				item.Record.Payload = stored
			}
		},
		"a changed bit": func(item *checkpoint.ExportItem) {
			if item.Record != nil && !item.Record.Snapshot {
				item.Record.Payload = bytes.Clone(item.Record.Payload)
				item.Record.Payload[len(item.Record.Payload)-1] ^= 1
			}
		},
		"a cut payload": func(item *checkpoint.ExportItem) {
			if item.Record != nil {
				item.Record.Payload = item.Record.Payload[:len(item.Record.Payload)/2]
			}
		},
		"no payload": func(item *checkpoint.ExportItem) {
			if item.Record != nil {
				item.Record.Payload = nil
			}
		},
		"plain text": func(item *checkpoint.ExportItem) {
			if item.Record != nil {
				item.Record.Payload = []byte("plain text")
			}
		},
		"a record that has another id": func(item *checkpoint.ExportItem) {
			if item.Record != nil && !item.Record.Snapshot {
				item.Record.ID[15] ^= 1
			}
		},
		"a write of another task": func(item *checkpoint.ExportItem) {
			if item.Write != nil {
				item.Write.Task = "b"
			}
		},
		"a question as an answer": func(item *checkpoint.ExportItem) {
			if item.Write != nil {
				item.Write.Kind = checkpoint.Answer
			}
		},
		"a task as another": func(item *checkpoint.ExportItem) {
			if item.Record != nil && len(item.Record.Due) > 0 {
				item.Record.Due = []checkpoint.Task{{Node: "a"}, item.Record.Due[0]}
			}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			from, to := memory.New(), memory.New()
			s := open(t, from, key("k", 1))
			fill(t, s, "t", "one")
			fill(t, s, "other", "two")
			c, err := from.Load(t.Context(), checkpoint.Ref{Thread: "other"})
			if err != nil {
				t.Fatal(err)
			}
			stored = c.Snapshot
			if err := to.Import(t.Context(), "t", altered(from, "t", change)); err != nil {
				t.Fatal(err)
			}
			if c, err := open(t, to, key("k", 1)).Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("Load returned %+v, %v; want ErrDamaged", c, err)
			}
		})
	}
}

// A chain with a record left out, or with records of an older line, is not the chain of its head.
func TestAChainWithAGapIsDamage(t *testing.T) {
	inner := memory.New()
	s := open(t, shortened{inner}, key("k", 1))
	fill(t, s, "t", "one")
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("Load without the last delta returned %v; want ErrDamaged", err)
	}
}

// shortened is a saver that loses the last delta of every chain.
type shortened struct{ checkpoint.Saver }

func (s shortened) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	if n := len(c.Deltas); n > 0 {
		c.Deltas = c.Deltas[:n-1]
	}
	return c, err
}

func TestKeysRotate(t *testing.T) {
	inner := memory.New()
	fill(t, open(t, inner, key("old", 1)), "t", "one")

	both := open(t, inner, key("new", 2), key("old", 1))
	fill(t, both, "u", "two")
	for _, thread := range []string{"t", "u"} {
		if _, err := both.Load(t.Context(), checkpoint.Ref{Thread: thread}); err != nil {
			t.Errorf("with both keys, thread %s: %v", thread, err)
		}
	}
	only := open(t, inner, key("new", 2))
	if _, err := only.Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, encrypt.ErrNoKey) {
		t.Errorf("without the old key: %v; want ErrNoKey", err)
	}
	if _, err := only.Load(t.Context(), checkpoint.Ref{Thread: "u"}); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
	// A copy writes everything again.
	if err := checkpoint.Copy(t.Context(), both, "t", 0, both, "moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := only.Load(t.Context(), checkpoint.Ref{Thread: "moved"}); err != nil {
		t.Errorf("a copy needs another key than the new one: %v", err)
	}
}

// TestKeyIDNamesTheKeyOfEachPayload looks at a saver as a tool without keys does.
func TestKeyIDNamesTheKeyOfEachPayload(t *testing.T) {
	inner := memory.New()
	s := open(t, inner, key("2026-11", 1))
	fill(t, s, "t", "")
	c, err := inner.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string][]byte{
		"snapshot": c.Snapshot, "delta": c.Deltas[0], "task": c.Due[0].Payload, "write": c.Writes[0].Payload,
	} {
		if id, ok := encrypt.KeyID(stored); id != "2026-11" || !ok {
			t.Errorf("%s: got %q, %v; want the key 2026-11", name, id, ok)
		}
		if id, ok := encrypt.KeyID(stored[:30]); ok {
			t.Errorf("a part of a %s: got the key %q", name, id)
		}
	}
	if c, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 100)
	for _, plain := range [][]byte{
		nil, {}, {1}, c.Snapshot, []byte(long), append([]byte{0x81, 0xa1, 'k', 1, 1}, long...), append([]byte{1, 0}, long...),
		append([]byte{2, 1}, long...),
	} {
		if id, ok := encrypt.KeyID(plain); ok {
			t.Errorf("%q is not encrypted, and KeyID returns %q", plain, id)
		}
	}
}

func TestAnotherSecretIsDamage(t *testing.T) {
	inner := memory.New()
	fill(t, open(t, inner, key("k", 1)), "t", "one")
	s := open(t, inner, key("k", 2))
	if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("Load returned %v; want ErrDamaged", err)
	}
	listed := 0
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if listed++; !errors.Is(err, checkpoint.ErrDamaged) || th.ID != "t" {
			t.Errorf("Threads yielded %+v, %v; want the thread t with ErrDamaged", th, err)
		}
	}
	if listed != 1 {
		t.Errorf("Threads yielded %d threads; want 1", listed)
	}
}

func TestKeysAreChecked(t *testing.T) {
	for name, keys := range map[string][]encrypt.Key{
		"no id":          {key("", 1)},
		"a long id":      {key(string(make([]byte, 256)), 1)},
		"a short secret": {{ID: "k", Secret: make([]byte, 16)}},
		"the same id":    {key("k", 1), key("k", 2)},
	} {
		if _, err := encrypt.New(memory.New(), keys[0], keys[1:]...); err == nil {
			t.Errorf("%s: New returned no error", name)
		}
	}
}

// TestAPayloadOfAnotherFormatNamesBothNumbers reads payloads that another saver or version stored.
func TestAPayloadOfAnotherFormatNamesBothNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		stored []byte
		want   string
	}{
		"a newer format": {[]byte{7, 1, 'k', 0, 0}, "has format 7, and this version reads format 1"},
		"not encrypted":  {[]byte{0x81, 0xa1, 'a', 1}, "has format 129, and this version reads format 1: it is not encrypted"},
		"a short header": {[]byte{1, 9, 'k'}, "of 3 bytes ends within its header"},
		"one byte":       {[]byte{1}, "of 1 bytes ends within its header"},
	} {
		inner, id := memory.New(), newID(t)
		_, err := inner.Append(t.Context(), checkpoint.Append{
			Thread: "t", Open: &checkpoint.Opening{}, End: true,
			Records: []checkpoint.Record{{ID: id, Base: id, Source: checkpoint.Input, Snapshot: true, Payload: test.stored}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, inner, key("k", 1)).Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if !errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Load returned %v; want ErrDamaged with %q", name, err, test.want)
		}
	}
}

// FuzzOpen feeds any bytes as a stored payload.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1})
	f.Add([]byte{1, 1, 'k'})
	f.Add(append([]byte{1, 1, 'k'}, make([]byte, 80)...))
	f.Fuzz(func(t *testing.T, stored []byte) {
		inner := memory.New()
		id := newID(t)
		_, err := inner.Append(t.Context(), checkpoint.Append{
			Thread: "t", Open: &checkpoint.Opening{}, End: true,
			Records: []checkpoint.Record{{ID: id, Base: id, Source: checkpoint.Input, Snapshot: true, Payload: stored}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, inner, key("k", 1)).Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if !errors.Is(err, checkpoint.ErrDamaged) && !errors.Is(err, encrypt.ErrNoKey) {
			t.Errorf("Load of %x returned %v; want ErrDamaged or ErrNoKey", stored, err)
		}
	})
}

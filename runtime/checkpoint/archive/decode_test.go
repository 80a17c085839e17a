package archive

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// FuzzDecode passes bytes to each decoder without a checksum. A value that a decoder accepts is
// the same after it was encoded and decoded again.
func FuzzDecode(f *testing.F) {
	f.Add(appendVersion(nil, &checkpoint.Version{Thread: "t", Number: 1}))
	f.Add(appendThread(nil, &checkpoint.Thread{ID: "t", Labels: map[string]string{"a": "b"}}))
	f.Add(appendRecord(nil, &checkpoint.NamespaceRecord{Record: checkpoint.Record{Ran: []string{"a"}, Joins: []checkpoint.Join{{To: "b"}}}}))
	f.Add(appendWrite(nil, &checkpoint.Write{Task: "k", Payload: []byte{1}}))
	f.Add(appendMessage(nil, &checkpoint.Message{ID: "m"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := decode(b, "version", readVersion); err == nil {
			again, err := decode(appendVersion(nil, &v), "version", readVersion)
			same(t, v, again, err)
		}
		if v, err := decode(b, "thread", readThread); err == nil {
			again, err := decode(appendThread(nil, &v), "thread", readThread)
			same(t, v, again, err)
		}
		if v, err := decode(b, "record", readRecord); err == nil {
			again, err := decode(appendRecord(nil, &v), "record", readRecord)
			same(t, v, again, err)
		}
		if v, err := decode(b, "write", readWrite); err == nil {
			again, err := decode(appendWrite(nil, &v), "write", readWrite)
			same(t, v, again, err)
		}
		if v, err := decode(b, "message", readMessage); err == nil {
			again, err := decode(appendMessage(nil, &v), "message", readMessage)
			same(t, v, again, err)
		}
	})
}

func same[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("decoded again: %v, differences (-first +second):\n%s", err, diff)
	}
}

package redis_test

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// FuzzDecode feeds bytes that a server may return to everything that reads them: what is not what was stored is an
// error, never a panic, and a record that can be read can be written and read again.
func FuzzDecode(f *testing.F) {
	id := checkpoint.ID{1, 2, 3}
	f.Add(redis.EncodeRecord(checkpoint.Record{
		ID: id, Base: id, Line: id, Step: 3, Source: checkpoint.Loop, Due: []checkpoint.Task{{Node: "a", Index: 1, Payload: []byte("x")}},
		Owed: []string{"b"}, Joins: []checkpoint.Join{{To: "c", Fired: []string{"d"}}}, Meta: map[string]string{"k": "v"},
		Graph: "g", Created: time.Unix(1, 0), Snapshot: true, Payload: []byte("payload"),
	}), "\x01\x00\x01t\x00", "12:3:"+string(redis.EncodeWrite(checkpoint.Write{Task: "t", Kind: checkpoint.Result, Payload: []byte("x")})), "1,2,3")
	f.Add([]byte{0, 0, 0, 1, 0}, "", "", "")
	f.Add([]byte{}, "\x05", "1:1", "0123456789abcdef1:2:3:4:5:6")
	f.Fuzz(func(t *testing.T, record []byte, name, value, numbers string) {
		if r, err := redis.DecodeRecord(string(record), 9); err == nil {
			header := record[:4+binary.BigEndian.Uint32(record)&0xffffff]
			if h, err := redis.DecodeHeader(string(header), 9); err != nil || h.ID != r.ID {
				t.Errorf("a record can be read whose header cannot: %v", err)
			}
			again, err := redis.DecodeRecord(string(redis.EncodeRecord(r)), 9)
			if err != nil || r.Base == r.ID && !reflect.DeepEqual(r, again) {
				t.Errorf("got %+v, %v, want %+v", again, err, r)
			}
		}
		if w, _, err := redis.DecodeWrite(checkpoint.ID{}, name, value); err == nil && (w.Kind < checkpoint.Result || w.Kind > checkpoint.Failure) {
			t.Errorf("a write of kind %d", w.Kind)
		}
		_ = redis.ParseHead(numbers)
		if seqs, err := redis.ParseSeqs(numbers); err == nil {
			again, err := redis.ParseSeqs(redis.FormatSeqs(seqs))
			if err != nil || !reflect.DeepEqual(seqs, again) {
				t.Errorf("got %v, %v, want %v", again, err, seqs)
			}
		}
	})
}

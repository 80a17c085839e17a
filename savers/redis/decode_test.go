package redis_test

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// FuzzDecode feeds random bytes to all decoders. Wrong bytes must be an error, never a panic. A
// record that can be read can also be written and read again.
func FuzzDecode(f *testing.F) {
	id := checkpoint.ID{1, 2, 3}
	f.Add(redis.EncodeRecord(checkpoint.Record{
		ID: id, Base: id, Line: id, Step: 3, Source: checkpoint.Loop, Due: []checkpoint.Task{{Node: "a", Index: 1, Payload: []byte("x")}},
		PendingRoutes: []string{"b"}, Joins: []checkpoint.Join{{To: "c", Fired: []string{"d"}}}, Meta: map[string]string{"k": "v"},
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

func TestDataOfAnotherFormatIsRefused(t *testing.T) {
	id := checkpoint.ID{1, 2, 3}
	record := redis.EncodeRecord(checkpoint.Record{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true})
	record[0] = 0
	_, err := redis.DecodeRecord(string(record), 1)
	_, headerErr := redis.DecodeHeader(string(record[:4+record[3]]), 1)
	_, _, writeErr := redis.DecodeWrite(id, "\x01\x00\x01t\x00", "1:1:bpayload")
	for what, err := range map[string]error{"a record": err, "a header": headerErr, "a write": writeErr} {
		if err == nil || !strings.Contains(err.Error(), "format 0") || !strings.Contains(err.Error(), "format 8") {
			t.Errorf("%s without a checksum: got %v, want an error with both formats", what, err)
		}
	}
}

func TestEveryByteOfARecordAndAWriteCounts(t *testing.T) {
	id := checkpoint.ID{1, 2, 3}
	record := redis.EncodeRecord(checkpoint.Record{ID: id, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte("p")})
	for i := range record {
		record[i] ^= 1
		if r, err := redis.DecodeRecord(string(record), 1); err == nil {
			t.Errorf("byte %d of a record was changed: got %+v, want an error", i, r)
		}
		record[i] ^= 1
	}
	w := checkpoint.Write{Base: id, Task: "t", Kind: checkpoint.Result, Payload: []byte("payload")}
	write := redis.EncodeWrite(w)
	for i := range write {
		write[i] ^= 1
		if got, _, err := redis.DecodeWrite(id, "\x01\x00\x01t\x00", "1:1:"+string(write)); err == nil {
			t.Errorf("byte %d of a write was changed: got %+v, want an error", i, got)
		}
		write[i] ^= 1
	}
	if got, _, err := redis.DecodeWrite(id, "\x01\x00\x01t\x00", "1:1:"+string(write)); err != nil || !reflect.DeepEqual(got, w) {
		t.Errorf("got %+v, %v, want %+v", got, err, w)
	}
	if _, _, err := redis.DecodeWrite(checkpoint.ID{9}, "\x01\x00\x01t\x00", "1:1:"+string(write)); err == nil {
		t.Error("a write of another base was read")
	}
}

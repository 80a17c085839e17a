package mysql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// A server takes no more than its max_allowed_packet, which by default is less than the driver
// thinks.
func TestAWriteThatIsTooLargeForTheServerFailsAtOnceAndLeavesNoLease(t *testing.T) {
	server, dsn := start(t)
	exec(t, server.DSN, "SET GLOBAL max_allowed_packet = 4194304")
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	a := checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{Holder: "first"}, Lease: time.Hour,
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}},
	}
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	put := checkpoint.PutWrites{Thread: "t", Fence: id, End: true, Lease: time.Hour}
	for _, size := range []int{5 << 20, 28 << 20} { // the driver sends them in different ways
		put.Writes = []checkpoint.Write{{Base: id, Task: "task", Kind: checkpoint.Result, Payload: make([]byte, size)}}
		var tooLarge *checkpoint.SizeError
		_, err := s.PutWrites(t.Context(), put)
		if !errors.As(err, &tooLarge) || tooLarge.Size < size || tooLarge.Size > size+1000 || tooLarge.Limit != 4194304 || !strings.Contains(err.Error(), "max_allowed_packet") {
			t.Errorf("a write of %d bytes: got %v, want a *checkpoint.SizeError with both sizes", size, err)
		}
		outcome := checkpoint.Write{Base: id, Task: "task", Kind: checkpoint.Outcome, Name: "0/0.1", Payload: make([]byte, size)}
		if _, err := s.Post(t.Context(), checkpoint.Post{Thread: "t", Outcomes: []checkpoint.Write{outcome}}); !errors.Is(err, checkpoint.ErrTooLarge) {
			t.Errorf("an outcome of %d bytes: got %v, want %v", size, err, checkpoint.ErrTooLarge)
		}
		if done, err := s.Post(t.Context(), checkpoint.Post{Thread: "u", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage, Payload: make([]byte, size)}}}); !errors.Is(err, checkpoint.ErrTooLarge) {
			t.Errorf("a message of %d bytes: got %v, %v, want %v", size, done, err, checkpoint.ErrTooLarge)
		}
		put := checkpoint.PutWrites{Thread: "t", Fence: id, Lease: time.Hour, Writes: []checkpoint.Write{{Base: id, Task: "small", Kind: checkpoint.Result, Payload: []byte{0xc0}}}}
		for range 10 { // the same statements, on the connections that have failed
			put.Writes[0].Task += "."
			if _, err := s.PutWrites(t.Context(), put); err != nil {
				t.Fatalf("a small write after one of %d bytes: %v", size, err)
			}
		}
	}
	put.Writes = nil
	if _, err := s.PutWrites(t.Context(), put); err != nil {
		t.Errorf("giving up the lease: %v", err)
	}
	a.After, a.Records[0].ID, a.Records[0].Base = id, checkpoint.ID{0xff}, checkpoint.ID{0xff}
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Errorf("the next run: got %v, want that it may open", err)
	}
}

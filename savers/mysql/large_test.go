package mysql_test

import (
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
	s, err := mysql.Open(t.Context(), dsn)
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
		if _, err := s.PutWrites(t.Context(), put); err == nil || !strings.Contains(err.Error(), "max_allowed_packet") {
			t.Errorf("a write of %d bytes: got %v, want an error that names max_allowed_packet", size, err)
		}
	}
	put.Writes = nil
	if _, err := s.PutWrites(t.Context(), put); err != nil {
		t.Errorf("giving up the lease: %v", err)
	}
	a.After, a.Records[0].ID, a.Records[0].Base = id, checkpoint.ID{1}, checkpoint.ID{1}
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Errorf("the next run: got %v, want that it may open", err)
	}
}

package archive_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAThreadWithMessagesOnlyIsAVersion(t *testing.T) {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	if _, err := archive.Versions(t.Context(), s, "a"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("the versions of a thread that does not exist: got %v", err)
	}
	for _, err := range archive.Items(t.Context(), s, checkpoint.Version{Thread: "a"}) {
		if !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("the items of a thread that does not exist: got %v", err)
		}
	}
	m := checkpoint.Message{ID: "first", Kind: checkpoint.InputMessage, Payload: []byte{1}}
	if _, err := s.Post(t.Context(), checkpoint.Post{Thread: "a", Graph: "g", Messages: []checkpoint.Message{m}}); err != nil {
		t.Fatal(err)
	}
	versions, err := archive.Versions(t.Context(), s, "a")
	if err != nil || len(versions) != 1 || versions[0].Number != 0 || versions[0].Status != checkpoint.Ready {
		t.Fatalf("got %+v, %v", versions, err)
	}
	var got []checkpoint.ExportItem
	for item, err := range archive.Items(t.Context(), s, versions[0]) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, item)
	}
	if len(got) != 2 || got[0].Thread == nil || got[0].Thread.Graph != "g" || got[1].Message == nil || got[1].Message.ID != "first" {
		t.Errorf("got %+v", got)
	}
}

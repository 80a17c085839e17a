package redis_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The first of two posts names a graph that is not that of the thread, so the server refuses its
// first announcement to the index.
func TestPostsForOneThreadKeepTheirOrder(t *testing.T) {
	s := open(t)
	post := func(graph, id string) checkpoint.Post {
		return checkpoint.Post{Thread: "t", Graph: graph, Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage}}}
	}
	if _, err := s.Post(t.Context(), post("g", "0")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(t.Context(), post("unknown", "1"), post("g", "2"), post("unknown", "3")); err != nil {
		t.Fatal(err)
	}
	all, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	order := ""
	for i := range all {
		order += all[i].ID
	}
	if order != "0123" {
		t.Errorf("got the messages %s, want 0123", order)
	}
}

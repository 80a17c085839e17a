package redis_test

import (
	"errors"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A server closes the connection of a client that sends a larger argument than its
// proto-max-bulk-len.
func TestAValueThatTheServerNeverTakesIsTooLarge(t *testing.T) {
	const limit, size = 1 << 20, 3 << 20
	client := goredis.NewClient(&goredis.Options{Addr: testenv.StartRedis(t, true).Addr})
	s := openOn(t, client)
	r := begin(t, s, "t")
	if err := client.ConfigSet(t.Context(), "proto-max-bulk-len", "1048576").Err(); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var tooLarge *checkpoint.SizeError
		if !errors.As(err, &tooLarge) || tooLarge.Size < size || tooLarge.Limit != limit || errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("%s: got %v, want a *checkpoint.SizeError with both sizes", what, err)
		}
	}
	a := r.next()
	a.Records[0].Payload = make([]byte, size)
	_, err := s.Append(t.Context(), a)
	refused("a commit", err)
	w := checkpoint.Write{Base: r.head, Task: "task", Kind: checkpoint.Result, Payload: make([]byte, size)}
	_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: r.fence, Writes: []checkpoint.Write{w}})
	refused("a result", err)
	w.Kind, w.Name = checkpoint.Outcome, "0/0.1"
	for _, posts := range [][]checkpoint.Post{
		{{Thread: "t", Outcomes: []checkpoint.Write{w}}},
		{{Thread: "u", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage, Payload: w.Payload}}}},
		{{Thread: "u", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage, Payload: w.Payload}}}, {Thread: "v", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}},
	} {
		_, err := s.Post(t.Context(), posts...)
		refused("a message", err)
	}
	r.steps--
	r.commit()
	r.end(checkpoint.Failed)
}

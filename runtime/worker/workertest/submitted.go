package workertest

import (
	"context"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// RequireSubmitted fails the test unless the inputs of a thread that wait are those of the given
// request ids, in order. Without request ids, at least one input must wait. It returns the inputs.
// An input waits until a run begins with it.
func RequireSubmitted(tb testing.TB, saver checkpoint.Saver, thread string, requests ...string) []checkpoint.Message {
	tb.Helper()
	all, err := saver.Mail(context.Background(), checkpoint.MailQuery{Thread: thread})
	if err != nil {
		tb.Fatalf("thread %q: read the inbox: %v", thread, err)
	}
	all = slices.DeleteFunc(all, func(m checkpoint.Message) bool { return m.Kind != checkpoint.InputMessage })
	got := make([]string, len(all))
	for i := range all {
		got[i] = all[i].ID
	}
	if len(requests) > 0 && !slices.Equal(got, requests) {
		tb.Fatalf("thread %q: the inputs %q wait, want %q", thread, got, requests)
	}
	if len(got) == 0 {
		tb.Fatalf("thread %q: no input waits, want at least one", thread)
	}
	return all
}

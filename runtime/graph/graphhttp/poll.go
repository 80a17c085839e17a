package graphhttp

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// watch polls a followed thread until ctx ends. When another process has changed the thread, watch
// makes all followers read the changes from the store.
func (h *Hub[S, U]) watch(ctx context.Context, thread string) {
	poll := time.NewTicker(h.opt.poll)
	defer poll.Stop()
	var last checkpoint.Thread
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		if h.running(thread) {
			last = checkpoint.Thread{}
			continue
		}
		now, err := h.app.Thread(thread).Describe(ctx)
		if err == nil && now.Head == last.Head && now.Status == last.Status && slices.EqualFunc(now.Questions, last.Questions, sameQuestion) {
			continue
		}
		last = now
		if told := h.lag(thread); !told || err != nil { // followers get the error when they read
			last = checkpoint.Thread{}
		}
	}
}

func sameQuestion(a, b checkpoint.Write) bool {
	return a.Base == b.Base && a.Task == b.Task && a.Name == b.Name
}

// lag makes the followers of a thread read from the store. It returns false if some of them must
// first take messages of a run.
func (h *Hub[S, U]) lag(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := true
	if t := h.topics[thread]; t != nil {
		for _, f := range t.followers {
			if len(f.queue) > 0 {
				all = false
				continue
			}
			f.behind()
		}
	}
	return all
}

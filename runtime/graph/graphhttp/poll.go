package graphhttp

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// watch looks every now and then at a thread that is followed, until ctx ends. When another process has done something to it, all
// followers read from the store what that was.
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
		now, err := h.app.Thread(thread).Status(ctx)
		if err == nil && now.Head == last.Head && now.Status == last.Status && slices.EqualFunc(now.Questions, last.Questions, sameQuestion) {
			continue
		}
		last = now
		if told := h.lag(thread); !told || err != nil { // the followers meet the error themselves
			last = checkpoint.Thread{}
		}
	}
}

func sameQuestion(a, b checkpoint.Write) bool {
	return a.Base == b.Base && a.Task == b.Task && a.Name == b.Name
}

// lag has the followers of a thread read from the store. It reports false when some of them have first to take what a run has told
// them.
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

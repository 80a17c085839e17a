package memory

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// wakes has the threads with a Wake, in the order in which they become due, by graph and
// priority. The zero wakes is empty. Its lock is taken after that of a thread.
type wakes struct {
	mu    sync.Mutex
	heaps map[queue]*wakeHeap
}

// queue is what the threads of one heap have in common.
type queue struct {
	graph    string
	priority checkpoint.Priority
}

// waking is the place of a thread in wakes. The zero waking is of a thread without a Wake.
type waking struct {
	queue
	id   string
	wake time.Time
	at   int // in the heap
}

// note makes w know when a thread is due, and its queue. The caller holds the thread.
func (w *wakes) note(old *waking, now waking) {
	if old.queue == now.queue && old.wake.Equal(now.wake) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !old.wake.IsZero() {
		h := w.heaps[old.queue]
		if heap.Remove(h, old.at); h.Len() == 0 {
			delete(w.heaps, old.queue)
		}
	}
	if *old = now; now.wake.IsZero() {
		return
	}
	if w.heaps == nil {
		w.heaps = make(map[queue]*wakeHeap)
	}
	h := w.heaps[now.queue]
	if h == nil {
		h = new(wakeHeap)
		w.heaps[now.queue] = h
	}
	heap.Push(h, old)
}

// first returns the ids of up to n threads of a queue, those that are due first. all reports
// whether every thread that is due at the time now is among them.
func (w *wakes) first(q queue, n int, now time.Time) (ids []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.heaps[q]
	if h == nil {
		return nil, true
	}
	taken := make([]*waking, min(n, h.Len()))
	for i := range taken {
		taken[i], _ = heap.Pop(h).(*waking)
	}
	all = h.Len() == 0 || (*h)[0].wake.After(now)
	for _, t := range taken {
		ids = append(ids, t.id)
		heap.Push(h, t)
	}
	return ids, all
}

// wakeHeap is a heap of threads by their Wake.
type wakeHeap []*waking

func (h *wakeHeap) Len() int { return len(*h) }

func (h *wakeHeap) Less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	return cmp.Or(a.wake.Compare(b.wake), strings.Compare(a.id, b.id)) < 0
}

func (h *wakeHeap) Swap(i, j int) {
	all := *h
	all[i], all[j] = all[j], all[i]
	all[i].at, all[j].at = i, j
}

// Push implements heap.Interface.
func (h *wakeHeap) Push(x any) {
	t, _ := x.(*waking)
	t.at = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *wakeHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

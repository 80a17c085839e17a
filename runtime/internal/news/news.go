// Package news asks a saver for new messages of the threads that runs hold. It also asks for the
// runs of threads that callers watch. It asks once per second, in one call for all of them.
package news

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Every is the time between two questions to the saver.
const Every = time.Second

// Never is the wait of a seat that needs no more ticks.
const Never = time.Duration(1<<63 - 1)

// most is how many threads one call of the saver asks for.
const most = 1000

// Room knows the threads that runs of a process hold, and those that callers watch. It has no
// goroutine of its own while nobody asks: the seats tick, and the first one that is due asks for
// all. A checkpoint.Notifier announces messages and runs, so that a Room asks it only once for
// each seat. A Room is safe for concurrent use.
type Room struct {
	// Wait is how long a run holds its thread before it joins. It saves short runs the work.
	Wait time.Duration

	saver   checkpoint.Saver
	timeout time.Duration // of one call

	mu    sync.Mutex
	seats map[string][]*Seat // by thread
	asked time.Time          // when the newest question for all threads began
	stop  func()             // ends the announcements of the saver; nil for none
}

// NewRoom returns a Room without seats. timeout bounds each call of saver.
func NewRoom(saver checkpoint.Saver, timeout time.Duration) *Room {
	return &Room{saver: saver, timeout: timeout, seats: make(map[string][]*Seat)}
}

// Lull is the pause after looks that hints have caused. It grows while they find nothing, so that
// many hints cause few looks. The zero Lull is that of the first look.
type Lull struct{ pause time.Duration }

// The pause after the first look that finds nothing, and the longest one.
const (
	leastLull = time.Millisecond
	mostLull  = 50 * time.Millisecond
)

// After returns the pause after a look. found reports whether the look found anything.
func (l *Lull) After(found bool) time.Duration {
	if l.pause = min(max(2*l.pause, leastLull), mostLull); found {
		l.pause = 0
	}
	return l.pause
}

// Seat is the place of one run, or of one watching caller, in a Room.
type Seat struct {
	room    *Room
	thread  string
	heard   func(posted uint64)             // nil if the seat watches
	changed func()                          // nil if the seat is that of a run
	begin   func(ask func(context.Context)) // calls ask in a goroutine
	cancel  context.CancelFunc              // ends the questions that this seat asks
	calls   sync.WaitGroup

	// The room's mutex guards these.
	left   bool
	asked  bool // the seat has asked after the saver began to announce
	hinted bool // a question because of a hint is in progress
	again  bool // another hint has come meanwhile
	newest uint64
	told   bool              // news is set
	news   checkpoint.News   // the newest that a watching seat has seen
	notice checkpoint.Notice // the newest that a watching seat has seen
	lull   Lull
}

// Join adds a run on a thread. heard is called with the number of the newest message of the
// thread, also if it is not new, and returns immediately. Questions have the values of ctx.
func (r *Room) Join(ctx context.Context, thread string, heard func(posted uint64)) *Seat {
	return r.add(ctx, &Seat{thread: thread, heard: heard})
}

// Watch adds a caller that waits for a change of a thread: a message, or the beginning or the end
// of a run. changed is called at least once after each change, and returns immediately. Questions
// have the values of ctx.
func (r *Room) Watch(ctx context.Context, thread string, changed func()) *Seat {
	return r.add(ctx, &Seat{thread: thread, changed: changed})
}

// add adds a seat to the room.
func (r *Room) add(ctx context.Context, s *Seat) *Seat {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.room, s.cancel = r, cancel
	s.begin = func(ask func(context.Context)) {
		s.calls.Add(1)
		go func() {
			defer s.calls.Done()
			ask(ctx)
		}()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seats[s.thread] = append(r.seats[s.thread], s)
	return s
}

// Tick asks for news in the background if nobody in the room has for a second. It returns when the
// seat ticks again.
func (s *Seat) Tick() time.Duration {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	wait := Every - now.Sub(r.asked)
	switch {
	case s.left || r.stop != nil && s.asked:
		return Never
	case r.stop != nil:
		s.asked = true
		s.begin(func(ctx context.Context) { r.ask(ctx, []*Seat{s}) })
		return Never
	case wait > 0 && wait <= Every:
		return wait
	}
	r.asked = now
	s.begin(r.askAll)
	return Every
}

// Leave removes the seat. It ends a question that the seat has asked.
func (s *Seat) Leave() {
	r := s.room
	r.mu.Lock()
	s.left = true
	var rest []*Seat
	for _, other := range r.seats[s.thread] {
		if other != s {
			rest = append(rest, other)
		}
	}
	if r.seats[s.thread] = rest; rest == nil {
		delete(r.seats, s.thread)
	}
	stop := r.emptied()
	r.mu.Unlock()
	stop()
	s.cancel()
	s.calls.Wait()
}

// emptied returns what ends the announcements if the room is empty. The caller must hold r.mu, and
// call the function without it: the saver may call the room meanwhile.
func (r *Room) emptied() (stop func()) {
	if len(r.seats) > 0 || r.stop == nil {
		return func() {}
	}
	stop, r.stop = r.stop, nil
	return stop
}

// Hint asks for news of one thread in the background: now, or after a pause if the questions of
// the hints before found nothing. It reports whether a run in the room has the thread.
func (r *Room) Hint(thread string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seats := r.seats[thread]
	if len(seats) == 0 {
		return false
	}
	s := seats[len(seats)-1]
	if s.again = s.hinted; !s.hinted {
		s.hinted = true
		s.begin(func(ctx context.Context) { r.follow(ctx, s) })
	}
	return true
}

// follow asks for news of the thread of a seat until no more hint has come.
func (r *Room) follow(ctx context.Context, s *Seat) {
	for again := true; again; {
		posted := r.ask(ctx, []*Seat{s})
		r.mu.Lock()
		found := len(posted) == 1 && posted[0].Posted > s.newest
		if found {
			s.newest = posted[0].Posted
		}
		pause := s.lull.After(found)
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		r.mu.Lock()
		again = s.again && !s.left
		s.again, s.hinted = false, again
		r.mu.Unlock()
	}
}

// askAll asks for news of all threads in the room.
func (r *Room) askAll(ctx context.Context) {
	r.listen(ctx)
	r.mu.Lock()
	all := make([]*Seat, 0, len(r.seats))
	for _, seats := range r.seats {
		for _, s := range seats {
			s.asked = r.stop != nil
			all = append(all, s)
		}
	}
	r.mu.Unlock()
	for part := range slices.Chunk(all, most) {
		r.ask(ctx, part)
	}
}

// listen makes a checkpoint.Notifier announce messages.
func (r *Room) listen(ctx context.Context) {
	n, ok := r.saver.(checkpoint.Notifier)
	if !ok {
		return
	}
	stop, err := n.Notify(ctx, r.announced)
	if err != nil {
		return // the next question tries again
	}
	r.mu.Lock()
	if r.stop == nil {
		r.stop, stop = stop, func() {}
	}
	over := r.emptied()
	r.mu.Unlock()
	stop()
	over()
}

// announced receives an announcement of the saver.
func (r *Room) announced(n checkpoint.Notice) {
	r.mu.Lock()
	seats := r.seats[n.Thread]
	var watching []*Seat
	for _, s := range seats {
		if s.changed != nil && s.notice != n { // the writes of a run announce the same
			s.notice = n
			watching = append(watching, s)
		}
	}
	r.mu.Unlock()
	for _, s := range watching {
		s.changed()
	}
	for _, s := range seats {
		if s.heard != nil {
			s.heard(n.Posted)
		}
	}
}

// Changed tells the seats that watch a thread of a change.
func (r *Room) Changed(thread string) {
	r.mu.Lock()
	seats := r.seats[thread]
	r.mu.Unlock()
	for _, s := range seats {
		if s.changed != nil {
			s.changed()
		}
	}
}

// ask asks for news of seats, and returns them. If it fails, the next second asks again.
func (r *Room) ask(ctx context.Context, seats []*Seat) (found []checkpoint.News) {
	defer func() { _ = recover() }() // of the saver: the next write of a run reports it
	threads := make([]string, len(seats))
	for i, s := range seats {
		threads[i] = s.thread
	}
	call, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	found, err := r.saver.News(call, threads)
	if err != nil && !errors.Is(err, checkpoint.ErrPartial) || len(found) != len(seats) {
		return nil
	}
	for i, s := range seats {
		if err != nil && found[i] == (checkpoint.News{}) {
			continue // unknown
		}
		if s.heard != nil {
			s.heard(found[i].Posted)
		} else if s.learns(found[i]) {
			s.changed()
		}
	}
	return found
}

// learns notes the news of a watching seat, and reports whether they differ from those before.
func (s *Seat) learns(n checkpoint.News) bool {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	differ := !s.told || s.news != n
	s.told, s.news = true, n
	return differ
}

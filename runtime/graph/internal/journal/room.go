package journal

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// tick asks for news of the thread, once the run is in the Room. It returns the time to the next
// tick.
func (s *Sync) tick(ctx context.Context) time.Duration {
	if s.Room == nil {
		return news.Never
	}
	if s.seat != nil {
		return s.seat.Tick()
	}
	held := time.Since(s.since)
	if held < s.Room.Wait {
		return s.Room.Wait - held
	}
	s.seat = s.Room.Join(ctx, s.ThreadID, s.learned)
	if held < news.Every { // the opening knows the newest message
		return news.Every - held
	}
	return s.seat.Tick()
}

// quit ends the renewals of the lease and the questions for news. It waits for calls in progress.
func (s *Sync) quit() {
	s.timer.stop()
	if s.seat != nil {
		s.seat.Leave()
	}
}

package pack_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

func TestAQueueRunsItsJobsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []int
		q := pack.NewQueue(func(_ context.Context, n int) error {
			time.Sleep(time.Second)
			ran = append(ran, n)
			return errors.New("ignored")
		})
		q.Add(1, 2)
		q.Add(3)
		q.Close(time.Minute)
		q.Add(4)
		synctest.Wait()
		if want := []int{1, 2, 3}; !slices.Equal(ran, want) {
			t.Errorf("got jobs %v, want %v", ran, want)
		}
	})
}

func TestAClosingQueueCancelsALongJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []int
		q := pack.NewQueue(func(ctx context.Context, n int) error {
			ran = append(ran, n)
			<-ctx.Done()
			return ctx.Err()
		})
		q.Add(1, 2, 3)
		begun := time.Now()
		q.Close(time.Second)
		if got := time.Since(begun); got != time.Second || !slices.Equal(ran, []int{1}) {
			t.Errorf("got jobs %v after %v, want the first after 1s", ran, got)
		}
	})
}

func TestALogIsDueWhenItsRunReachesAMultiple(t *testing.T) {
	p := pack.Policy{Every: 128, Keep: 32}
	for _, c := range []struct {
		opened, head int64
		want         bool
	}{
		{0, 127, false},
		{0, 128, true},
		{127, 128, true},
		{128, 130, false},
		{10, 5000, true},
	} {
		if got := p.Due(c.opened, c.head); got != c.want {
			t.Errorf("from %d to %d: got %t, want %t", c.opened, c.head, got, c.want)
		}
	}
}

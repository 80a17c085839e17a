package pages_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// crowded is a saver with more threads than one page reads.
type crowded struct {
	checkpoint.Saver

	n       int
	queries []checkpoint.ThreadQuery
}

func (s *crowded) Threads(_ context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	s.queries = append(s.queries, q)
	return func(yield func(checkpoint.Thread, error) bool) {
		from, yielded := 0, 0
		if q.After != "" {
			if _, err := fmt.Sscanf(q.After, "order-%d", &from); err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			from++
		}
		for i := from; i < s.n; i++ {
			th := checkpoint.Thread{ID: fmt.Sprintf("order-%06d", i), Version: 1, Versions: 1, Graph: "shop", Status: checkpoint.Done, Created: time.Now().Add(-time.Duration(i) * time.Second)}
			if strings.HasPrefix(th.ID, q.Prefix) && (q.Status == 0 || q.Status == th.Status) {
				if yielded++; !yield(th, nil) || yielded == q.Limit {
					return
				}
			}
		}
	}
}

func TestASearchForAWholeIDReadsNoOtherPage(t *testing.T) {
	saver := &crowded{Saver: newSaver(t), n: 20_000}
	s := serve(t, saver, inspect.Options{})
	s.has("?q=order-019999", "thread?id=order-019999")
	s.has("?q=order-019999&sort=id&graph=shop&status=done&prefix=order", "thread?id=order-019999")
	for _, other := range []string{"&graph=other", "&status=failed", "&prefix=x", "&label=a%3Db", "&idle=1h", "&created=1h", "&stuck=1"} {
		if other == "&idle=1h" {
			continue // it was updated at the zero time
		}
		s.lacks("?q=order-019999"+other, "thread?id=order-019999")
	}
	if body := s.page("?q=order-000003"); strings.Count(body, `href="thread?id=order-000003"`) != 1 {
		t.Errorf("a thread that the scan finds as well is not listed once:\n%s", body)
	}
	denies := serve(t, saver, inspect.Options{Authorize: func(_ *http.Request, a inspect.Access) error {
		if a.Thread == "order-019999" {
			return errors.New("the thread of another user")
		}
		return nil
	}})
	denies.lacks("?q=order-019999", "thread?id=order-019999")
}

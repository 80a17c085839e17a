package inspect

import (
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// TestTheEndOfASearchNamesNoHiddenThread has a reader who must not see the last thread.
func TestTheEndOfASearchNamesNoHiddenThread(t *testing.T) {
	j := &job{err: &operate.SearchError{After: checkpoint.Thread{ID: "order-7"}}}
	for _, may := range []bool{true, false} {
		d := j.data(head{}, func(*checkpoint.Thread) bool { return may })
		if !strings.Contains(d.Err, "10000 threads") || strings.Contains(d.Err, "order-7") != may {
			t.Errorf("the reader sees the thread: %t; got %q", may, d.Err)
		}
	}
}

package pages_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
)

// linkOf returns the address in the first match of a pattern.
func linkOf(t *testing.T, body, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the page has no link %s:\n%s", pattern, body)
	}
	return strings.ReplaceAll(found[1], "&amp;", "&")
}

// A reader compares two checkpoints that no page of the history has together: by links from the
// first one, and by its form.
func TestAnyTwoCheckpointsAreCompared(t *testing.T) {
	saver := newSaver(t)
	long(t, saver, 350)
	s := serve(t, saver, inspect.Options{})
	oldest := "history?id=long"
	for range 3 {
		oldest = nextPage(s.page(oldest))
	}
	body := s.page(linkOf(t, s.page(oldest), `<a href="(checkpoint\?[^"]*)"><code>`))
	id := linkOf(t, body, `name="a" value="([^"]*)"`)

	page := linkOf(t, body, `href="(history\?a=[^"]*)"`)
	if body = s.has(page, "Choose the checkpoint to compare with", "<code>"+id+"</code>"); strings.Contains(body, `type="radio"`) {
		t.Error("the history offers two choices")
	}
	// The first page has the newest ones. A filter and older pages keep the choice.
	if got := s.has(linkOf(t, body, `href="(compare\?[^"]*)"`), "<code>Cents</code>"); !strings.Contains(got, ">350</span>") || !strings.Contains(got, id[28:]) {
		t.Errorf("the difference to the newest checkpoint: %s", got)
	}
	next := s.page(nextPage(body))
	if second := s.page(linkOf(t, next, `href="(compare\?[^"]*)"`)); !strings.Contains(second, id[28:]) || strings.Contains(second, ">350</span>") {
		t.Errorf("the difference to a checkpoint on the second page: %s", second)
	}
	s.has("history?id=long&step=100&a="+id, `name="a" value="`+id+`"`, `href="compare?a=`+id)

	// The form of the checkpoint takes "head" or an id.
	byHead := s.has("compare?id=long&a="+id+"&b=head", "<code>Cents</code>", ">350</span>", id[28:])
	swapped := linkOf(t, byHead, `href="(compare\?[^"]*)">Swap`)
	if !strings.HasSuffix(swapped, "&b="+id+"&id=long") {
		t.Errorf("the swap is %s", swapped)
	}
	s.has(swapped, `<td class="before">`, ">350</span>")
	for _, bad := range []string{"history?id=long&a=x", "compare?id=long&a=" + id, "compare?id=long&b=head&a=first"} {
		if status, body := s.get(bad); status != http.StatusBadRequest {
			t.Errorf("GET %s: got %d: %s", bad, status, body)
		}
	}
}

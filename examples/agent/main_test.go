package main

import (
	"regexp"
	"strings"
	"testing"
)

// talk runs the program in dir with lines as its input, and returns its output without keys.
func talk(t *testing.T, dir string, lines ...string) string {
	t.Helper()
	t.Setenv("OPENAI_MODEL", "")
	var out strings.Builder
	if err := run(t.Context(), dir, "chat-1", desk{}, strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`key \w+`).ReplaceAllString(out.String(), "key K")
}

// TestChat has a conversation of three processes. The first ends while a person must decide, and
// the last one stops such a turn.
func TestChat(t *testing.T) {
	dir := t.TempDir()
	for i, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"hello", "orders 7 and 41", "refund 7"}, `> Tell me the number of an order, or say: refund 7.
> (find_order) (find_order) I have this: order 7: a lamp for 4000 cents, delivered yesterday; The tool failed: there is no order 41.
> (find_order) (refund) 
refund {"order":"7","cents":4000}? y, n, s to stop, or other arguments: > `},
		{[]string{`{"order":"7","cents":500}`, "refund 8", "n"}, `(continued)

refund {"order":"7","cents":4000}? y, n, s to stop, or other arguments: I have this: order 7: a lamp for 4000 cents, delivered yesterday; A person has changed the arguments to {"order":"7","cents":500}.
paid 500 cents for order 7, key K.
> (find_order) (refund) 
refund {"order":"8","cents":4000}? y, n, s to stop, or other arguments: I have this: order 8: a lamp for 4000 cents, delivered yesterday; A person has denied this call.
> `},
		{[]string{"refund 9", "s", "order 5"}, `> (find_order) (refund) 
refund {"order":"9","cents":4000}? y, n, s to stop, or other arguments: > (find_order) I have this: order 5: a lamp for 4000 cents, delivered yesterday.
> `},
	} {
		if got := talk(t, dir, tt.lines...); got != tt.want {
			t.Errorf("process %d printed:\n%s\nwant:\n%s", i+1, got, tt.want)
		}
	}
}

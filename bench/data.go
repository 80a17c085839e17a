package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// Reference returns the state that codecs are measured on, about 15 kB. It has 50 messages of
// about 200 bytes, ten of them with a tool call. It also has two maps of 20 entries, 64 floats
// and a nested pointer.
func Reference() reference.State {
	start := time.Date(2026, 3, 4, 5, 6, 7, 891000000, time.UTC)
	s := reference.State{
		ID:    [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		Query: "what does the survey of 2025 say about the length of mountain paths?", Status: "searching",
		Step: 17, Tokens: 48_211, Done: true, Started: start,
		Facts: make(map[string]reference.Fact), Counts: make(map[string]int64),
		Plan: &reference.Plan{
			Goal: "answer with sources", Steps: []string{"search", "read", "compare", "write"},
			Next: &reference.Plan{Goal: "check the answer", Steps: []string{"read again"}},
		},
	}
	for i := range 50 {
		m := reference.Message{
			ID: fmt.Sprintf("message-%04d", i), Role: []reference.Status{"user", "assistant"}[i%2],
			Text: strings.Repeat(fmt.Sprintf("sentence %d of a conversation; ", i), 5), At: start.Add(time.Duration(i) * time.Minute),
		}
		if i%5 == 0 {
			m.Calls = []reference.ToolCall{{ID: fmt.Sprintf("call-%d", i), Tool: "search", Args: []byte(`{"q":"length of paths","n":10}`)}}
		}
		s.Messages = append(s.Messages, m)
	}
	for i := range 20 {
		s.Facts[fmt.Sprintf("fact-%02d", i)] = reference.Fact{
			Source: fmt.Sprintf("https://example.com/%d", i), Text: "a path is as long as it takes", Score: float64(i) / 7,
		}
		s.Counts[fmt.Sprintf("count-%02d", i)] = int64(i * i * 37)
	}
	for i := range 64 {
		s.Vector = append(s.Vector, float64(i)*0.731)
	}
	return s
}

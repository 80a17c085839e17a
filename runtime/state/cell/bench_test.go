package cell_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// BenchmarkMerge merges one change into states of different lengths. The time must not depend on
// the length. The module bench compares the codec and the clone with their floors.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		var fill ref.EverythingUpdate
		for i := range n {
			id := fmt.Sprintf("message-%06d", i)
			fill.Messages.Upsert(ref.Message{ID: id, Text: "text"})
			fill.Log.Append(id)
			fill.Facts.Put(id, ref.Fact{Source: id})
			fill.Tags.Add(ref.Status(id))
		}
		changes := []struct {
			name string
			make func(u *ref.EverythingUpdate)
		}{
			{"scalar", func(u *ref.EverythingUpdate) { u.Sum.Add(1) }},
			{"append", func(u *ref.EverythingUpdate) { u.Log.Append("one more line") }},
			{"upsert", func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "message-000005"}) }},
			{"put", func(u *ref.EverythingUpdate) { u.Facts.Put("message-000005", ref.Fact{}) }},
			{"union", func(u *ref.EverythingUpdate) { u.Tags.Add("message-000005") }},
		}
		for _, c := range changes {
			for _, record := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/of=%d/record=%v", c.name, n, record), func(b *testing.B) {
					l := newLive(cell.Options{Record: record})
					if err := l.Merge(0, &fill); err != nil {
						b.Fatal(err)
					}
					var buf []byte
					var u ref.EverythingUpdate // one for the run, as a graph keeps it
					b.ReportAllocs()
					for b.Loop() {
						u = ref.EverythingUpdate{}
						c.make(&u)
						if err := l.Merge(0, &u); err != nil {
							b.Fatal(err)
						}
						l.EndStep()
						if record {
							var err error
							if buf, err = l.AppendDelta(buf[:0]); err != nil {
								b.Fatal(err)
							}
						}
					}
				})
			}
		}
	}
}

// BenchmarkDiff compares states of 1,000 messages, facts and lines: the time follows their length,
// the memory what differs.
func BenchmarkDiff(b *testing.B) {
	var s ref.Everything
	s.Facts = make(map[string]ref.Fact)
	for i := range 1000 {
		id := fmt.Sprintf("message-%06d", i)
		s.Messages = append(s.Messages, ref.Message{ID: id, Text: "text"})
		s.Log = append(s.Log, id)
		s.Facts[id] = ref.Fact{Source: id}
	}
	for _, c := range []struct {
		name   string
		change func(s *ref.Everything)
	}{
		{"nothing", func(*ref.Everything) {}},
		{"append", func(s *ref.Everything) { s.Log = append(s.Log, "one more line") }},
		{"upsert", func(s *ref.Everything) { s.Messages[500].Text = "other" }},
		{"remove", func(s *ref.Everything) { s.Messages = s.Messages[1:] }},
		{"put", func(s *ref.Everything) { s.Facts["message-000005"] = ref.Fact{} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			after := ref.EverythingSchema.Clone(s)
			c.change(&after)
			b.ReportAllocs()
			for b.Loop() {
				if d := ref.EverythingDiffOf(s, after); d.Set.Before != "" {
					b.Fatal(d)
				}
			}
		})
	}
}

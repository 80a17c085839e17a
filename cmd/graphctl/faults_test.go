package main

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/cmd/graphctl/internal/desk"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestVerifyFindsFaults changes one thing of a good version, and wants the problem that verify
// reports.
func TestVerifyFindsFaults(t *testing.T) {
	record := func(items []checkpoint.ExportItem, n int) *checkpoint.NamespaceRecord {
		for i := range items {
			if items[i].Record != nil {
				if n == 0 {
					return items[i].Record
				}
				n--
			}
		}
		t.Fatal("too few records")
		return nil
	}
	for _, c := range []struct {
		name, want string
		change     func(items []checkpoint.ExportItem, v *checkpoint.Version) []checkpoint.ExportItem
	}{
		{"nothing", "", nil},
		{"a delta", "the state cannot be read", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 1).Payload = []byte{0xc1}
			return items
		}},
		{"a snapshot", "the state cannot be read", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 0).Payload = []byte{0x81}
			return items
		}},
		{"the first snapshot", "the oldest record has no snapshot", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 0).Snapshot = false
			return items
		}},
		{"an id", "another record has the id", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 1).ID = record(items, 0).ID
			return items
		}},
		{"a number", "number 1 follows number 1", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 1).Seq = 1
			return items
		}},
		{"a parent", "whose parent", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			record(items, 2).Parent = record(items, 0).ID
			return items
		}},
		{"a missing record", "records, but", func(items []checkpoint.ExportItem, v *checkpoint.Version) []checkpoint.ExportItem {
			v.Records++
			return items
		}},
		{"the head", "the head is", func(items []checkpoint.ExportItem, v *checkpoint.Version) []checkpoint.ExportItem {
			v.Head = record(items, 0).ID
			return items
		}},
		{"a question", "question", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			for i := range items {
				if w := items[i].Write; w != nil && w.Kind == checkpoint.Question {
					w.Payload = []byte{0x01}
				}
			}
			return items
		}},
		{"the order of messages", "message 3 follows message 4", func(items []checkpoint.ExportItem, _ *checkpoint.Version) []checkpoint.ExportItem {
			return append(items, checkpoint.ExportItem{Message: &checkpoint.Message{Number: 4}}, checkpoint.ExportItem{Message: &checkpoint.Message{Number: 3}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, items, v := goodVersion(t)
			if c.change != nil {
				items = c.change(items, &v)
			}
			var found []string
			err := ops(&changedSaver{s, items, v}).Verify(t.Context(), "order-1", new(operate.Totals), func(p *operate.Problem) error {
				found = append(found, p.Problem)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			switch all := strings.Join(found, "\n"); {
			case c.want == "" && all != "":
				t.Errorf("got problems\n%s\nwant none", all)
			case !strings.Contains(all, c.want):
				t.Errorf("got problems\n%s\nwant one with %q", all, c.want)
			}
		})
	}
}

// changedSaver is a saver that lists and exports another version than it has.
type changedSaver struct {
	checkpoint.Saver

	items   []checkpoint.ExportItem
	version checkpoint.Version
}

func (s *changedSaver) Versions(context.Context, string) ([]checkpoint.Version, error) {
	return []checkpoint.Version{s.version}, nil
}

func (s *changedSaver) Export(context.Context, string, int) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for _, item := range s.items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// goodVersion returns the exported version of a thread that waits for an answer, and its saver.
func goodVersion(t *testing.T) (checkpoint.Saver, []checkpoint.ExportItem, checkpoint.Version) {
	t.Helper()
	ctx := context.Background()
	s := memory.New()
	app, err := desk.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := deskStep(ctx, app, []string{"start", "order-1", "500"}); err != nil {
		t.Fatal(err)
	}
	versions, err := s.Versions(ctx, "order-1")
	if err != nil || len(versions) != 1 {
		t.Fatal(versions, err)
	}
	var items []checkpoint.ExportItem
	for item, err := range s.Export(ctx, "order-1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Record != nil {
			r := *item.Record
			item.Record = &r
		}
		if item.Write != nil {
			w := *item.Write
			item.Write = &w
		}
		items = append(items, item)
	}
	return s, items, versions[0]
}

package cell_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state/cell"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// Later versions must be able to read stored data, so this test pins its form byte by byte.
func TestStoredFormsStayAsTheyAre(t *testing.T) {
	type up = func(u *ref.EverythingUpdate)
	tests := []struct {
		name   string
		before up
		change up
		delta  string // what is in it after its dead bytes
		update string
	}{
		{"set", nil, func(u *ref.EverythingUpdate) { u.Set.Set("v") }, "\x81\xa3Set\x92\x00\xa1v", "\x81\xa3Set\x92\x01\xa1v"},
		{"append", nil, func(u *ref.EverythingUpdate) { u.Log.Append("a", "b") }, "\x81\xa3Log\x92\x01\x92\xa1a\xa1b", "\x81\xa3Log\x92\x02\x92\xa1a\xa1b"},
		{"remove", func(u *ref.EverythingUpdate) { u.Log.Append("a", "b") }, func(u *ref.EverythingUpdate) { u.Log.Remove("b") },
			"\x81\xa3Log\x92\x05\x91\x01", "\x81\xa3Log\x92\x03\x91\xa1b"},
		{"replace", nil, func(u *ref.EverythingUpdate) { u.Log.Replace("a") }, "\x81\xa3Log\x92\x00\x91\xa1a", "\x81\xa3Log\x92\x04\x91\xa1a"},
		{"clear", func(u *ref.EverythingUpdate) { u.Log.Append("a") }, func(u *ref.EverythingUpdate) { u.Log.Clear() },
			"\x81\xa3Log\x92\x06\xc0", "\x81\xa3Log\x92\x05\x90"},
		{"put", nil, func(u *ref.EverythingUpdate) { u.Ranks.Merge(map[int8]string{2: "b", -1: "a"}) },
			"\x81\xa5Ranks\x92\x02\x82\xff\xa1a\x02\xa1b", "\x81\xa5Ranks\x92\x06\x82\xff\xa1a\x02\xa1b"},
		{"delete", func(u *ref.EverythingUpdate) { u.Ranks.Put(2, "b") }, func(u *ref.EverythingUpdate) { u.Ranks.Delete(2, 3) },
			"\x81\xa5Ranks\x92\x03\x91\x02", "\x81\xa5Ranks\x92\x07\x92\x02\x03"},
		{"upsert", func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "1"}) }, func(u *ref.EverythingUpdate) { u.Messages.Upsert(ref.Message{ID: "1"}) },
			"\x81\xa8Messages\x92\x04\x92\x00" + message1, "\x81\xa8Messages\x92\x08\x91" + message1},
		{"add", nil, func(u *ref.EverythingUpdate) { u.Sum.Add(5) }, "\x81\xa3Sum\x92\x00\x05", "\x81\xa3Sum\x92\x09\x05"},
		{"add to a list", nil, func(u *ref.EverythingUpdate) { u.Tags.Add("a") }, "\x81\xa4Tags\x92\x01\x91\xa1a", "\x81\xa4Tags\x92\x09\x91\xa1a"},
		{"offer", nil, func(u *ref.EverythingUpdate) { u.Min.Offer(5) }, "\x81\xa3Min\x92\x00\x05", "\x81\xa3Min\x92\x0a\x05"},
		{"or", nil, func(u *ref.EverythingUpdate) { u.Or.Or(true) }, "\x81\xa2Or\x92\x00\xc3", "\x81\xa2Or\x92\x0b\xc3"},
		{"and", nil, func(u *ref.EverythingUpdate) { u.And.And(true) }, "\x81\xa3And\x92\x00\xc3", "\x81\xa3And\x92\x0c\xc3"},
		{"reduce", nil, func(u *ref.EverythingUpdate) { u.Plan.Reduce(ref.PlanEdit{Goal: "g"}) },
			"\x81\xa4Plan\x92\x00\x83\xa4Goal\xa1g\xa5Steps\xc0\xa4Next\xc0", "\x81\xa4Plan\x92\x0d\x82\xa4Goal\xa1g\xa4Step\xa0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLive(cell.Options{Record: true})
			if tt.before != nil {
				merged(t, l, tt.before)
				if _, err := l.AppendSnapshot(nil); err != nil {
					t.Fatal(err)
				}
			}
			merged(t, l, tt.change)
			d, err := l.AppendDelta(nil)
			if err != nil || len(d) < 2 || string(d[2:]) != tt.delta {
				t.Errorf("delta: got %q, %v, want %q after two bytes", d, err, tt.delta)
			}
			var u ref.EverythingUpdate
			tt.change(&u)
			b, err := ref.EverythingSchema.AppendUpdate(nil, &u)
			if err != nil || string(b) != tt.update {
				t.Errorf("update: got %q, %v, want %q", b, err, tt.update)
			}
		})
	}
}

// message1 is the message with the ID 1 and nothing else.
const message1 = "\x85\xa2ID\xa11\xa4Role\xa0\xa4Text\xa0\xa2At\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xf1\x88\x6e\x09\x00\xa5Calls\xc0"

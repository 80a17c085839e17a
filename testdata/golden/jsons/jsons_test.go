package jsons

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/testdata/golden/goldentest"
	"github.com/graphgen-go/graphgen/testdata/golden/jsons/vendored"
)

func prepare(f *goldentest.Filler) {
	goldentest.Register(f, func(*goldentest.Filler, int) vendored.Broken { return vendored.Broken{} })
	goldentest.Register(f, func(f *goldentest.Filler, _ int) vendored.Page {
		return vendored.NewPage(fmt.Sprint(f.Rand.IntN(9)), fmt.Sprint(f.Rand.IntN(9)))
	})
	goldentest.Register(f, func(f *goldentest.Filler, _ int) big.Int { return *big.NewInt(f.Rand.Int64()) })
	goldentest.Register(f, func(f *goldentest.Filler, _ int) vendored.Level { return vendored.Level{N: f.Rand.IntN(8)} })
}

func TestStateTravels(t *testing.T) { goldentest.State(t, StateSchema, StateDiffOf, prepare) }
func TestDocTravels(t *testing.T)   { goldentest.Payload[Doc](t, prepare) }
func FuzzState(f *testing.F)        { goldentest.FuzzState(f, StateSchema, prepare) }

func snapshot(t *testing.T, s State) string {
	t.Helper()
	live := StateSchema.New(cell.Options{})
	live.Load(s)
	b, err := live.AppendSnapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTheOptionDecidesHowATypeIsStored looks at the stored bytes.
func TestTheOptionDecidesHowATypeIsStored(t *testing.T) {
	for want, s := range map[string]State{
		"\x81\xa4Page\xba{\"Title\":\"a\",\"Tags\":[\"b\"]}":          {Page: vendored.NewPage("a", "b")},
		"\x81\xa6Number\xa242":                                        {Number: *big.NewInt(42)},
		"\x81\xa4Text\xa242":                                          {Text: *big.NewInt(42)},
		"\x81\xa5Level\xa1c":                                          {Level: vendored.Level{N: 2}},
		"\x81\xa6Levels\x92\x81\xa1N\x02\x81\xa1N\x00":                {Levels: [2]vendored.Level{{N: 2}}},
		"\x81\xa2At\xb6\"2026-01-02T00:00:00Z\"":                      {At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)},
		"\x81\xa7by_name\x81\xa1k\xc0":                                {ByName: map[string]*vendored.Page{"k": nil}},
		"\x81\xa3Doc\x83\xa5Title\xa0\xa5Pages\x91\x90\xa5Level\xa1a": {Doc: Doc{Pages: [][]vendored.Page{{}}}},
	} {
		if got := snapshot(t, s); got != want {
			t.Errorf("%+v is stored as\n%q, want\n%q", s, got, want)
		}
	}
}

// TestFaultsOfJSONHaveTheirPlace in both directions.
func TestFaultsOfJSONHaveTheirPlace(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for stored, want := range map[string]string{
		"\x81\xa5Pages\x92\xa2{}\xa1x":          "State.Pages[1]: text that is not JSON",
		"\x81\xa5Pages\x91\xa3[1]":              "State.Pages[0]: json: cannot unmarshal",
		"\x81\xa7by_name\x81\xa1k\xa0":          `State.by_name.k: text that is not JSON`,
		"\x81\xa3Doc\x81\xa5Pages\x91\x91\xa1?": "State.Doc.Pages[0][0]: text that is not JSON",
		"\x81\xa4Page\x05":                      "State.Page: want string, got int",
		"\x81\xa4Page\xda\x9c\x40" + deep:       "State.Page: text that is not JSON",
		"\x81\xa5Level\xa1z":                    "State.Level: want a letter from a to h",
		"\x81\xa6Broken\xa11":                   "State.Broken: not broken",
	} {
		err := StateSchema.New(cell.Options{}).Decode([]byte(stored))
		var at *state.DecodeError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("decoding %.40q returned %v, want a DecodeError with %q", stored, err, want)
		}
	}
	for _, text := range []string{"{", deep, "1 2"} {
		var u StateUpdate
		u.Broken.Set(vendored.NewBroken(text))
		var merge *state.MergeError
		err := StateSchema.New(cell.Options{Record: true}).Merge(0, &u)
		if !errors.As(err, &merge) || merge.Field != "Broken" || !errors.Is(err, wire.ErrNotJSON) {
			t.Errorf("merging %.10q returned %v, want a *MergeError of Broken with ErrNotJSON", text, err)
		}
	}
}

// pages returns the same pages in both forms.
func pages() (Pages, Plain) {
	var a Pages
	var b Plain
	for i := range 100 {
		title, tag := fmt.Sprintf("the page number %d", i), "a tag"
		a.Pages = append(a.Pages, vendored.NewPage(title, tag, tag))
		b.Pages = append(b.Pages, Page{title, []string{tag, tag}})
	}
	return a, b
}

// TestJSONCostsMoreThanAGeneratedCodec holds what docs/state.md says: bytes and allocations of 100
// pages in both forms. The JSON is written and read by package encoding/json.
func TestJSONCostsMoreThanAGeneratedCodec(t *testing.T) {
	slow, fast := pages()
	a, errA := slow.AppendWire(nil)
	b, errB := fast.AppendWire(nil)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	buf := bytes.Clone(a)
	count := func(f func() error) float64 {
		return testing.AllocsPerRun(20, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
	}
	write := count(func() error { _, err := slow.AppendWire(buf[:0]); return err })
	read := count(func() error { var v Pages; return v.DecodeWire(a) })
	writeFast := count(func() error { _, err := fast.AppendWire(buf[:0]); return err })
	readFast := count(func() error { var v Plain; return v.DecodeWire(b) })
	t.Logf("JSON: %d bytes, %v allocations to write, %v to read; generated: %d, %v, %v", len(a), write, read, len(b), writeFast, readFast)
	if len(a) <= len(b) || write < 100 || read < 3*readFast || writeFast != 0 {
		t.Error("docs/state.md says that JSON takes more bytes and allocates for each value")
	}
}

func BenchmarkJSON(b *testing.B) {
	slow, fast := pages()
	one, _ := slow.AppendWire(nil)
	two, _ := fast.AppendWire(nil)
	for name, f := range map[string]func() error{
		"write/json":      func() error { _, err := slow.AppendWire(one[:0:len(one)]); return err },
		"write/generated": func() error { _, err := fast.AppendWire(two[:0:len(two)]); return err },
		"read/json":       func() error { var v Pages; return v.DecodeWire(one) },
		"read/generated":  func() error { var v Plain; return v.DecodeWire(two) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Limits on words. More words of an item are an [*InvalidError]. Later words of a search, and
// later bytes of a word, do not count.
const (
	MaxWords       = 4096 // different words of an item, in all its text indexes
	MaxWord        = 64   // bytes of a word
	MaxSearchWords = 64   // different words of a search
)

// TextIndex holds the words of texts of T, by which [Collection.Search] finds items. NewTextIndex
// makes it. Search is experimental: any version may change it.
type TextIndex[T any] struct {
	name  string
	texts func(*T) []string
}

// NewTextIndex returns an index for full-text search. texts returns the texts of a value, such as
// its fields; their words count together. An item may have at most [MaxWords] different words.
// texts must not change its argument, and must be safe for concurrent use. A nil texts is an
// [*InvalidError] of [NewCollection].
//
// A word is a run of letters, marks and digits. Each character of a script without spaces, such as
// Chinese or Thai, and each symbol, such as an emoji, is a word of its own. Upper and lower case
// are equal. Accents stay, and texts are not normalised. There are no stop words, stems, operators
// or quotes. For stems, let texts return them, and search for them. The first [MaxWord] bytes of a
// word count.
//
// The name is stored. After adding an index, call [Collection.Reindex].
func NewTextIndex[T any](name string, texts func(*T) []string) *TextIndex[T] {
	return &TextIndex[T]{name, texts}
}

func (i *TextIndex[T]) apply(c *core[T]) error {
	if i == nil || i.texts == nil {
		return noFunction("a TextIndex")
	}
	c.texts = append(c.texts, i)
	return c.claim("text index", i.name)
}

// search returns the items with the words of a text.
func (i *TextIndex[T]) search(ctx context.Context, c *core[T], text string, s *searching) ([]Hit, error) {
	if !slices.Contains(c.texts, i) {
		return nil, &InvalidError{"text index", "one that is not of the collection", "an index that NewCollection got"}
	}
	q := TextQuery{Query: s.query, Index: i.name, Words: searchWords(text), Offset: s.offset}
	if err := q.Check(); err != nil {
		return nil, err
	}
	return c.backend.SearchText(ctx, q)
}

// spelled returns the words of a value, for each text index.
func (c *core[T]) spelled(value *T) (all []Text) {
	for _, i := range c.texts {
		if words := countWords(i.texts(value)); len(words) > 0 {
			all = append(all, Text{i.name, words})
		}
	}
	return all
}

// Text has the words of an item in one text index.
type Text struct {
	Index string
	Words []Word // in bytewise order, without repetition
}

// Word is a word, and how often the texts of an item have it.
type Word struct {
	Word  string
	Count int
}

// Total returns the number of words, with repetitions.
func (t *Text) Total() (n int) {
	for i := range t.Words {
		n += t.Words[i].Count
	}
	return n
}

// TextQuery selects items by words.
type TextQuery struct {
	Query  // After must be nil
	Index  string
	Words  []string // without repetition; without words it selects no items
	Offset int      // how many of the best are left out; with Limit at most MaxPage
}

// Check returns an [*InvalidError] for the first value in q that no backend accepts, or nil.
func (q *TextQuery) Check() error {
	if err := checkSearch(&q.Query, q.Index, q.Offset); err != nil {
		return err
	}
	if len(q.Words) > MaxSearchWords {
		return &InvalidError{"words", strconv.Itoa(len(q.Words)), fmt.Sprintf("at most %d", MaxSearchWords)}
	}
	for _, word := range q.Words {
		if err := checkWord(word); err != nil {
			return err
		}
	}
	return nil
}

func checkWord(word string) error {
	if word == "" || len(word) > MaxWord {
		return &InvalidError{"word", strconv.Itoa(len(word)) + " bytes", fmt.Sprintf("1 to %d", MaxWord)}
	}
	return nil
}

func (op *Op) checkTexts() error {
	if len(op.Texts) > MaxEntries {
		return &InvalidError{"texts", strconv.Itoa(len(op.Texts)) + " indexes", fmt.Sprintf("at most %d", MaxEntries)}
	}
	words := 0
	for i := range op.Texts {
		t := &op.Texts[i]
		if err := checkIndexName(t.Index); err != nil {
			return err
		}
		if slices.ContainsFunc(op.Texts[:i], func(o Text) bool { return o.Index == t.Index }) || len(t.Words) == 0 {
			return &InvalidError{"texts", fmt.Sprintf("the index %q twice, or without words", t.Index), "one Text for each index"}
		}
		if words += len(t.Words); words > MaxWords {
			return &InvalidError{
				fmt.Sprintf("text index %q", t.Index), "more words",
				fmt.Sprintf("at most %d different words of an item; index a shorter text", MaxWords),
			}
		}
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Text) check() error {
	total, last := 0, ""
	for i := range t.Words {
		w := &t.Words[i]
		if err := checkWord(w.Word); err != nil {
			return err
		}
		if total += w.Count; w.Count < 1 || w.Count > math.MaxInt32 || total > math.MaxInt32 || w.Word <= last {
			return &InvalidError{
				fmt.Sprintf("text index %q", t.Index), fmt.Sprintf("%q %d times, after %q", w.Word, w.Count, last),
				"words in order, each at least once",
			}
		}
		last = w.Word
	}
	return nil
}

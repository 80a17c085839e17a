package store

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// countWords returns the words of texts, in order.
func countWords(texts []string) []Word {
	counts := make(map[string]int)
	for _, text := range texts {
		split(text, func(word []byte) bool {
			counts[string(word)]++
			return true
		})
	}
	words := make([]Word, 0, len(counts))
	for word, n := range counts {
		words = append(words, Word{word, n})
	}
	slices.SortFunc(words, func(a, b Word) int { return strings.Compare(a.Word, b.Word) })
	return words
}

// searchWords returns the words of the text of a search: the first of them, without repetition.
func searchWords(text string) (words []string) {
	split(text, func(word []byte) bool {
		if !slices.Contains(words, string(word)) {
			words = append(words, string(word))
		}
		return len(words) < MaxSearchWords
	})
	return words
}

// split calls yield with each word of a text, until it returns false. yield must not keep the
// word.
func split(text string, yield func(word []byte) bool) {
	var word []byte
	whole, full := false, false // the word has all its characters, or all its bytes
	for _, r := range text {
		r = fold(r)
		kind := kindOf(r)
		switch {
		case kind == ignored || kind == mark && len(word) == 0:
			continue
		case kind == separator, kind == alone, kind == letter && whole:
			if len(word) > 0 && !yield(word) {
				return
			}
			word, whole, full = word[:0], kind == alone, false
		}
		if full = full || len(word)+utf8.RuneLen(r) > MaxWord; !full && kind != separator {
			word = utf8.AppendRune(word, r)
		}
	}
	if len(word) > 0 {
		yield(word)
	}
}

// fold returns the same character for upper, lower and title case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// charKind is what a character does in a word.
type charKind uint8

const (
	separator charKind = iota
	letter             // a part of a word
	mark               // a part of the word before it
	alone              // a word
	ignored            // as if it was not there
)

func kindOf(r rune) charKind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return letter
		}
		return separator
	case r == utf8.RuneError: // also for bytes that are not UTF-8
		return separator
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		return ignored
	case unicode.IsMark(r):
		return mark
	case unicode.Is(unicode.So, r), unicode.IsLetter(r) && unspaced(r):
		return alone
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return letter
	}
	return separator
}

// unspaced reports whether a character is of a script without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

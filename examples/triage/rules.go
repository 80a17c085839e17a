package main

import (
	_ "embed" // the rules stand in a file of their own, for people who do not write Go
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Category is what a ticket is about.
type Category string

// The categories, in the order in which they win a tie.
const (
	Privacy  Category = "privacy"
	Outage   Category = "outage"
	Billing  Category = "billing"
	Refund   Category = "refund"
	Access   Category = "access"
	Shipping Category = "shipping"
	Feature  Category = "feature"
	Praise   Category = "praise"
	Abuse    Category = "abuse"
	Spam     Category = "spam"
	Other    Category = "other"
)

var categories = []Category{Privacy, Outage, Billing, Refund, Access, Shipping, Feature, Praise, Abuse, Spam}

//go:embed rules.json
var rulesJSON []byte

// Rules say by which words a ticket is told apart, language by language.
type Rules map[string]struct {
	Common   []string              `json:"common"` // words that give a language away
	Urgent   []string              `json:"urgent"`
	Keywords map[Category][]string `json:"keywords"` // beginnings of words, in lower case
}

// Verdict is what the rules make of a ticket.
type Verdict struct {
	Lang     string // of the text; "en" when nothing gives it away
	Category Category
	Labels   []Category // everything the ticket is about, the category first
	Urgent   bool
	Amounts  []Money
}

// loadRules reads rules.json. An unknown category in it is an error: a misspelled one would never match.
func loadRules() (Rules, error) {
	var r Rules
	if err := json.Unmarshal(rulesJSON, &r); err != nil {
		return nil, fmt.Errorf("rules.json: %w", err)
	}
	for lang, rule := range r {
		for c := range rule.Keywords {
			if !slices.Contains(categories, c) {
				return nil, fmt.Errorf("rules.json: %s: unknown category %q; want one of %q", lang, c, categories)
			}
		}
	}
	return r, nil
}

// classify judges a ticket by its text; lang is the language it is said to be in, or "".
func (r Rules) classify(subject, body, lang string) Verdict {
	v := Verdict{Lang: lang, Amounts: findMoney(subject + "\n" + body)}
	if lang == "" {
		v.Lang = r.detect(subject + " " + body)
	}
	rule, ok := r[v.Lang]
	if !ok {
		rule = r["en"]
	}
	subject, body = fold(subject, v.Lang), fold(body, v.Lang)
	for _, word := range rule.Urgent {
		v.Urgent = v.Urgent || has(subject, word) || has(body, word)
	}
	scores := make(map[Category]int)
	for c, words := range rule.Keywords {
		for _, word := range words {
			if has(subject, word) {
				scores[c] += 2
			}
			if has(body, word) {
				scores[c]++
			}
		}
	}
	for _, c := range []Category{Refund, Billing} {
		if scores[c] > 0 && len(v.Amounts) > 0 {
			scores[c] += 2 // who names an amount means it
		}
	}
	v.Labels = rank(scores)
	v.Category = v.Labels[0]
	return v
}

// rank orders categories by score. A second one counts when it has at least two words and half of the first's.
// Unwanted tickets are about nothing else: what a spammer writes besides is not answered.
func rank(scores map[Category]int) []Category {
	ranked := slices.Clone(categories)
	slices.SortStableFunc(ranked, func(a, b Category) int { return scores[b] - scores[a] })
	top := ranked[0]
	switch {
	case scores[Spam] >= 2 && scores[Spam] >= scores[top]:
		return []Category{Spam}
	case scores[top] == 0:
		return []Category{Other}
	case top == Abuse:
		return []Category{Abuse}
	}
	labels := []Category{top}
	for _, c := range ranked[1:] {
		if c != Spam && c != Abuse && scores[c] >= 2 && scores[c]*2 >= scores[top] {
			labels = append(labels, c)
		}
	}
	return labels
}

// letters that only one of our languages has.
var letters = map[string]string{"de": "ß", "es": "ñ¿¡", "pt": "ãõ", "tr": "ğışİ", "pl": "łąęśżź", "fr": "œç"}

// detect returns the language that most of a text's words belong to.
func (r Rules) detect(text string) string {
	best, most := "en", 0
	langs := make([]string, 0, len(r))
	for lang := range r {
		langs = append(langs, lang)
	}
	slices.Sort(langs) // a tie is broken the same way every time
	for _, lang := range langs {
		score := 3 * strings.Count(strings.Map(func(c rune) rune {
			if strings.ContainsRune(letters[lang], c) || lang == "ja" && unicode.In(c, unicode.Hiragana, unicode.Katakana) {
				return '1'
			}
			return '0'
		}, text), "1")
		words := strings.FieldsFunc(fold(text, lang), func(c rune) bool { return !unicode.IsLetter(c) })
		for _, w := range words {
			if slices.Contains(r[lang].Common, w) {
				score++
			}
		}
		if score > most {
			best, most = lang, score
		}
	}
	return best
}

// fold lowers the case as the language does (a Turkish I becomes ı) and makes every run of spaces one.
func fold(text, lang string) string {
	if lang == "tr" {
		text = strings.ToLowerSpecial(unicode.TurkishCase, text)
	} else {
		text = strings.ToLower(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// has reports whether a word of text begins with word. Scripts without spaces have no words to begin.
func has(text, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		if at+i == 0 || unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana) || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		at += i + len(word)
	}
}

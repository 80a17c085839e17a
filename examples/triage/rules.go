package main

import (
	_ "embed" // the rules are in a separate file, for people who do not write Go
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Category is the topic of a ticket.
type Category string

// The categories, in order of precedence if scores are equal.
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

// Rules maps languages to the words by which tickets are classified.
type Rules map[string]struct {
	Common   []string              `json:"common"` // words that identify the language
	Urgent   []string              `json:"urgent"`
	Keywords map[Category][]string `json:"keywords"` // beginnings of words, in lower case
}

// Verdict is the classification of a ticket.
type Verdict struct {
	Lang     string // of the text; "en" if it is unknown
	Category Category
	Labels   []Category // all categories of the ticket, the main category first
	Urgent   bool
	Amounts  []Money
}

// loadRules reads rules.json. It returns an error for an unknown category, because a misspelled
// one would never match.
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

// classify classifies a ticket by its text. lang is the language according to the customer, or "".
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
			scores[c] += 2 // an amount is strong evidence
		}
	}
	v.Labels = rank(scores)
	v.Category = v.Labels[0]
	return v
}

// rank orders categories by score. A second category counts if it has at least two words and half
// the score of the first. An unwanted ticket has no other category, because spam gets no answer.
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

// letters are characters that identify one language.
var letters = map[string]string{"de": "ß", "es": "ñ¿¡", "pt": "ãõ", "tr": "ğışİ", "pl": "łąęśżź", "fr": "œç"}

// detect returns the language with the most words in a text.
func (r Rules) detect(text string) string {
	best, most := "en", 0
	langs := make([]string, 0, len(r))
	for lang := range r {
		langs = append(langs, lang)
	}
	slices.Sort(langs) // make ties deterministic
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

// fold converts text to lower case by the rules of the language (a Turkish I becomes ı) and
// replaces each run of spaces by one.
func fold(text, lang string) string {
	if lang == "tr" {
		text = strings.ToLowerSpecial(unicode.TurkishCase, text)
	} else {
		text = strings.ToLower(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// has reports whether a word in text begins with word. In scripts without spaces, word may be
// anywhere.
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

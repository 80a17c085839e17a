package main

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"strings"
	"unicode"
)

//go:embed testdata/corpus.txt
var corpusText string

// Doc is one document.
type Doc struct{ Title, Text string }

// corpus contains documents and the word counts for ranking them.
type corpus struct {
	docs  []Doc
	terms map[Engine][]map[string]int // count of each word in each document
}

// readCorpus reads documents. Each begins with a line "# title", followed by the text.
func readCorpus(text string) *corpus {
	c := &corpus{terms: make(map[Engine][]map[string]int)}
	for part := range strings.SplitSeq("\n"+text, "\n# ") {
		title, body, ok := strings.Cut(part, "\n")
		if !ok || title == "" {
			continue
		}
		d := Doc{Title: title, Text: strings.Join(strings.Fields(body), " ")}
		c.docs = append(c.docs, d)
		c.terms[Titles] = append(c.terms[Titles], count(d.Title))
		c.terms[FullText] = append(c.terms[FullText], count(d.Title+" "+d.Text))
	}
	return c
}

func count(text string) map[string]int {
	n := make(map[string]int)
	for _, w := range words(text) {
		n[w]++
	}
	return n
}

// words returns the significant words of a text in lower case, in the singular.
func words(text string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		w = strings.TrimSuffix(w, "s")
		if len(w) > 2 && !slices.Contains(stopWords, w) {
			out = append(out, w)
		}
	}
	return out
}

var stopWords = strings.Fields("the and are was were for with from that thi how why what when which who doe did has have had can into it not but they their at by of on or in to")

// search returns at most limit documents for a query, ranked by BM25, the best first.
func (c *corpus) search(s Step, limit int) []Doc {
	terms, total := c.terms[s.Engine], 0
	for _, t := range terms {
		total += size(t)
	}
	average := float64(total) / float64(max(1, len(terms)))
	type hit struct {
		doc   int
		score float64
	}
	var hits []hit
	for i, t := range terms {
		score := 0.0
		for _, w := range words(s.Query) {
			if t[w] == 0 {
				continue
			}
			with := 0
			for _, other := range terms {
				if other[w] > 0 {
					with++
				}
			}
			idf := math.Log(1 + (float64(len(terms)-with)+0.5)/(float64(with)+0.5))
			tf := float64(t[w])
			score += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(size(t))/average))
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var docs []Doc
	for _, h := range hits[:min(limit, len(hits))] {
		docs = append(docs, c.docs[h.doc])
	}
	return docs
}

func size(terms map[string]int) int {
	n := 0
	for _, k := range terms {
		n += k
	}
	return n
}

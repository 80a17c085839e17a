package main

import (
	_ "embed" // the phrases are in a separate file, for people who do not write Go
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed phrases.json
var phrasesJSON []byte

// Phrases maps languages to the sentences of replies.
type Phrases map[string]map[string]phrase

// phrase is one sentence, or a list of words.
type phrase []string

// UnmarshalJSON also accepts a string, as a list of one.
func (p *phrase) UnmarshalJSON(raw []byte) error {
	var one string
	if err := json.Unmarshal(raw, &one); err == nil {
		*p = phrase{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(p))
}

// loadPhrases reads phrases.json. Every language must have every phrase of the English one.
func loadPhrases() (Phrases, error) {
	var p Phrases
	if err := json.Unmarshal(phrasesJSON, &p); err != nil {
		return nil, fmt.Errorf("phrases.json: %w", err)
	}
	for lang, have := range p {
		for key := range p["en"] {
			if len(have[key]) == 0 {
				return nil, fmt.Errorf("phrases.json: %s has no %q", lang, key)
			}
		}
	}
	return p, nil
}

// in returns the language of the reply: lang if there are phrases for it, and otherwise English.
func (p Phrases) in(lang string) string {
	if _, ok := p[lang]; ok {
		return lang
	}
	return "en"
}

// say returns a sentence. blanks are pairs of placeholder and value.
func (p Phrases) say(lang, key string, blanks ...string) string {
	return strings.NewReplacer(blanks...).Replace(p[p.in(lang)][key][0])
}

// greeting returns a greeting with the name, or a general greeting if name is empty.
func (p Phrases) greeting(lang, name string) string {
	if name == "" {
		name = p.say(lang, "anyone")
	}
	return p.say(lang, "greeting", "{name}", name)
}

// Sentence is a part of a reply that edits can add and remove.
type Sentence struct {
	About string // its key in phrases.json
	Text  string
}

// Reply is a draft.
type Reply struct {
	Greeting  string
	Sentences []Sentence
	Closing   string
}

// ReplyEdit is a change to a draft. Its parts apply in the order of the fields.
type ReplyEdit struct {
	Start    *Reply     // start again with this reply
	Greeting string     // replace the greeting; "" keeps it
	Drop     []string   // remove the sentences about these
	First    []Sentence // insert at the beginning
	Add      []Sentence // append at the end
}

// editReply is the reducer of State.Reply. It returns a new reply, because the old one may be in
// use elsewhere.
func editReply(old *Reply, in ReplyEdit) *Reply {
	var next Reply
	switch {
	case in.Start != nil:
		next = *in.Start
	case old != nil:
		next = *old
	}
	if in.Greeting != "" {
		next.Greeting = in.Greeting
	}
	kept := slices.Clone(in.First)
	for _, s := range next.Sentences {
		if !slices.Contains(in.Drop, s.About) {
			kept = append(kept, s)
		}
	}
	next.Sentences = append(kept, in.Add...)
	return &next
}

// Text returns the text of the reply.
func (r *Reply) Text() string {
	if r == nil {
		return ""
	}
	texts := make([]string, len(r.Sentences))
	for i, s := range r.Sentences {
		texts[i] = s.Text
	}
	return r.Greeting + "\n\n" + strings.Join(texts, " ") + "\n\n" + r.Closing
}

// Brief contains the facts for a reply.
type Brief struct {
	Ticket   Ticket
	Lang     string // of the ticket
	Name     string // of the customer; "" when unknown
	Account  string // the language of the customer's account; "" when unknown
	Labels   []Category
	Refund   Money // to be paid after approval; zero for none
	Policy   Policy
	Declined bool // the customer asked for a refund, and the rules do not allow it
}

// sentence answers one category of a ticket.
func (p Phrases) sentence(b Brief, about Category) Sentence {
	key := string(about)
	switch {
	case (about == Refund || about == Billing) && b.Refund.Minor > 0:
	case about == Refund:
		key = "declined"
	case about == Billing:
		key = "unclear"
	}
	return Sentence{About: string(about), Text: p.say(b.Lang, key, "{amount}", b.Refund.String())}
}

// draft writes a careless first version, so that check finds problems. It is in the language of
// the account and about the first category only. It promises something to an upset customer.
func (p Phrases) draft(b Brief) ReplyEdit {
	lang := b.Account
	if lang == "" {
		lang = b.Lang
	}
	r := &Reply{Greeting: p.greeting(lang, b.Name), Closing: p.say(b.Lang, "closing")}
	r.Sentences = append(r.Sentences, Sentence{"thanks", p.say(b.Lang, "thanks")}, p.sentence(b, b.Labels[0]))
	if b.Labels[0] == Outage || b.Labels[0] == Shipping {
		r.Sentences = append(r.Sentences, Sentence{"promise", p.say(b.Lang, "promise")})
	}
	return ReplyEdit{Start: r}
}

// Problem is a fault in a draft.
type Problem struct {
	Kind  string // "greeting", "order", "promise", "missing", "length", "address", "case"
	About string // for "missing": the category that is not answered
}

// String names the problem for the log.
func (p Problem) String() string {
	if p.About == "" {
		return p.Kind
	}
	return p.Kind + " " + p.About
}

// check returns the problems of a reply, or nil if it can be sent.
func (p Phrases) check(b Brief, r *Reply) []Problem {
	var problems []Problem
	text := r.Text()
	if r.Greeting != p.greeting(b.Lang, b.Name) {
		problems = append(problems, Problem{Kind: "greeting"})
	}
	if b.Ticket.Order != "" && !strings.Contains(text, b.Ticket.Order) {
		problems = append(problems, Problem{Kind: "order"})
	}
	for _, word := range p[p.in(b.Lang)]["forbidden"] {
		if has(fold(text, b.Lang), fold(word, b.Lang)) {
			problems = append(problems, Problem{Kind: "promise"})
			break
		}
	}
	for _, label := range b.Labels {
		if !slices.ContainsFunc(r.Sentences, func(s Sentence) bool { return s.About == string(label) }) {
			problems = append(problems, Problem{Kind: "missing", About: string(label)})
		}
	}
	if utf8.RuneCountInString(text) > b.Policy.MaxLength {
		problems = append(problems, Problem{Kind: "length"})
	}
	if b.Ticket.From == "" {
		problems = append(problems, Problem{Kind: "address"})
	}
	if b.Policy.CaseNumber {
		problems = append(problems, Problem{Kind: "case"})
	}
	return problems
}

// repair returns the edit that solves the problems. It cannot find an address or a case number, so
// these problems remain until a person takes over.
func (p Phrases) repair(b Brief, problems []Problem) ReplyEdit {
	var e ReplyEdit
	for _, problem := range problems {
		switch problem.Kind {
		case "greeting":
			e.Greeting = p.greeting(b.Lang, b.Name)
		case "order":
			e.First = append(e.First, Sentence{"order", p.say(b.Lang, "order", "{order}", b.Ticket.Order)})
		case "promise":
			e.Drop = append(e.Drop, "promise")
		case "missing":
			e.Add = append(e.Add, p.sentence(b, Category(problem.About)))
		case "length":
			e.Drop = append(e.Drop, "thanks")
		}
	}
	return e
}

// decline returns the edit for a ticket whose refund a person denied.
func (p Phrases) decline(b Brief) ReplyEdit {
	return ReplyEdit{
		Drop: []string{string(Refund), string(Billing)},
		Add:  []Sentence{{"declined", p.say(b.Lang, "declined")}},
	}
}

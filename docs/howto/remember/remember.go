// Package remember is the program of the how-to page on memory: a conversation that knows what the
// user said in earlier ones.
package remember

import (
	"context"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
)

//go:generate go tool graphgen -type=State,Fact

// State is the state of one conversation.
type State struct {
	Said  string
	Known []string // facts about the user
	Reply string
}

// Fact is what the store knows about a user.
type Fact struct {
	Kind string
	Text string
}

// kind is the index by which facts are found.
var kind = store.NewIndex("kind", func(f *Fact) string { return f.Kind })

// words is the index of the words of facts.
var words = store.NewTextIndex("words", func(f *Fact) []string { return []string{f.Text} })

// Profile keeps and reads facts of one user, whose id may have any bytes.
func Profile(ctx context.Context, backend store.Backend, user string) (home string, err error) {
	all, err := store.NewCollection[Fact](backend, store.Namespace{"profiles"}, kind)
	if err != nil {
		return "", err
	}
	facts := all.In(user)
	version, err := facts.Put(ctx, "home", Fact{Kind: "place", Text: "Rome"})
	if err != nil {
		return "", err
	}
	if _, err := facts.Put(ctx, "home", Fact{Kind: "place", Text: "Oslo"}, store.IfVersion(version)); err != nil {
		return "", err
	}
	for item, err := range facts.Filter(kind.Equal("place")).List(ctx, store.Limit(10)) {
		if err != nil {
			return "", err
		}
		home = item.Value.Text
	}
	return home, nil
}

// mine returns the namespace of the user that the thread of a node belongs to.
func mine(ctx context.Context) (store.Namespace, error) {
	user, err := graph.ThreadLabel(ctx, "user")
	return store.Namespace{"users", user}, err
}

// FactsOf returns the facts of a user, for code that is not a node.
func FactsOf(backend store.Backend, user string) (*store.Collection[Fact], error) {
	return store.NewCollection[Fact](backend, store.Namespace{"users", user, "facts"}, kind, words)
}

// memory has the nodes of the graph.
type memory struct{ facts *store.Collection[Fact] }

// recall reads the user's facts from the store.
func (m memory) recall(ctx context.Context, _ State) (StateUpdate, error) {
	var u StateUpdate
	var known []string
	for item, err := range m.facts.Filter(kind.In("place", "taste")).List(ctx, store.Exact(), store.Limit(20)) {
		if err != nil {
			return u, err
		}
		known = append(known, item.Value.Text)
	}
	u.Known.Set(known)
	return u, nil
}

// answer writes the reply. A model would get s.Known in its prompt.
func (m memory) answer(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Reply.Set("I know: " + strings.Join(s.Known, "; "))
	return u, nil
}

// learn keeps what the user said. A node that runs again writes once.
func (m memory) learn(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	once := store.Once(graph.CurrentTask(ctx).Key)
	if place, ok := strings.CutPrefix(s.Said, "I live in "); ok {
		_, err := m.facts.Put(ctx, "home", Fact{Kind: "place", Text: "lives in " + place}, once)
		return u, err
	}
	if taste, ok := strings.CutPrefix(s.Said, "I like "); ok {
		_, err := m.facts.Put(ctx, "taste "+taste, Fact{Kind: "taste", Text: "likes " + taste}, once, store.TTL(365*24*time.Hour))
		return u, err
	}
	return u, nil
}

// New returns the graph of a conversation.
func New(backend store.Backend, saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	facts, err := store.NewCollection[Fact](store.Scoped(backend, mine), store.Namespace{"facts"}, kind, words)
	if err != nil {
		return nil, err
	}
	m := memory{facts}
	g := graph.New("conversation", StateSchema)
	g.Node("recall", m.recall)
	g.Node("answer", m.answer)
	g.Node("learn", m.learn)
	g.Edge(graph.Start, "recall")
	g.Edge("recall", "answer")
	g.Edge("answer", "learn")
	g.Edge("learn", graph.End)
	return g.Compile(graph.Saver(saver))
}

// About returns the facts that have words of a question, the best first.
func About(ctx context.Context, facts *store.Collection[Fact], question string) ([]string, error) {
	found, err := facts.Search(ctx, words, question, store.Limit(5))
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, match := range found {
		texts = append(texts, match.Value.Text)
	}
	return texts, nil
}

// Forget removes all facts of a user.
func Forget(ctx context.Context, backend store.Backend, user string) error {
	facts, err := FactsOf(backend, user)
	if err != nil {
		return err
	}
	for item, err := range facts.List(ctx) {
		if err != nil {
			return err
		}
		if err := facts.Delete(ctx, item.Key); err != nil {
			return err
		}
	}
	return nil
}

// Follow calls say for each fact that is new, has changed or is gone, until ctx ends.
func Follow(ctx context.Context, facts *store.Collection[Fact], say func(text string)) error {
	for change, err := range facts.Watch(ctx, store.Every(5*time.Second)) {
		switch {
		case err != nil:
			return err
		case change.Removed:
			say("forgot " + change.Item.Key)
		default:
			say(change.Item.Value.Text)
		}
	}
	return nil
}

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// Memory is a fact that agents keep across conversations.
type Memory struct{ Text string }

// memoryWords is the index by which the tool recall finds memories.
var memoryWords = store.NewTextIndex("words", func(m *Memory) []string { return []string{m.Text} })

// Memories returns the memories in a backend. Confine the backend to one user by
// store.Scoped, for example by a label of the thread. Tools use the context of their node.
func Memories(b store.Backend) (*store.Collection[Memory], error) {
	return store.NewCollection(b, store.Namespace{"memories"}, memoryWords)
}

// recalled bounds the memories that the tool recall returns.
const recalled = 20

// memoryItem is a memory as the model sees it.
type memoryItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// MemoryTools returns the tools remember, recall and forget, by which a model keeps facts in
// memories. A text that is remembered twice is one memory. The tool recall searches by words, and
// returns at most 20 memories. options apply to remember and forget, for example NeedsApproval.
func MemoryTools(memories *store.Collection[Memory], options ...ToolOption) []Tool {
	type remember struct {
		Text string `json:"text" jsonschema:"the fact, in a sentence that is clear without the conversation"`
	}
	type recall struct {
		Words string `json:"words" jsonschema:"words of the facts; empty for all facts"`
	}
	type forget struct {
		ID string `json:"id" jsonschema:"the id of the memory, from recall"`
	}
	return []Tool{
		NewTool("remember", "keeps a fact about the user for later conversations", func(ctx context.Context, in remember) (string, error) {
			sum := sha256.Sum256([]byte(in.Text))
			_, err := memories.Put(ctx, hex.EncodeToString(sum[:6]), Memory(in), store.Once(graph.CurrentTask(ctx).Key))
			return "Remembered.", err
		}, options...),
		NewTool("recall", "finds facts that were remembered, also in earlier conversations", func(ctx context.Context, in recall) ([]memoryItem, error) {
			found := []memoryItem{}
			if in.Words == "" {
				for item, err := range memories.List(ctx, store.Limit(recalled)) {
					if err != nil {
						return nil, err
					}
					found = append(found, memoryItem{item.Key, item.Value.Text})
				}
				return found, nil
			}
			matches, err := memories.Search(ctx, memoryWords, in.Words, store.Limit(recalled))
			for _, m := range matches {
				found = append(found, memoryItem{m.Key, m.Value.Text})
			}
			return found, err
		}),
		NewTool("forget", "removes a fact that was remembered", func(ctx context.Context, in forget) (string, error) {
			return "Forgotten.", memories.Delete(ctx, in.ID)
		}, options...),
	}
}

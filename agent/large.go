package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/store"
)

// LargeResult is the text of a result that KeepLarge has put into a store.
type LargeResult struct {
	Tool string // the name of the tool
	Text string
}

// KeepLarge keeps results of tools out of the conversation if they have more than limit bytes of
// text. The ToolMiddleware puts such a text into results. The model gets the first limit bytes of
// the text, and a handle. The Tool is read_result, by which the model reads the rest, at most
// limit bytes a call. Images and files stay in the conversation. A limit below 256 is 256.
//
// A handle is no secret: confine the backend of results to one user by store.Scoped. For results
// that expire, use the option store.DefaultTTL.
func KeepLarge(results *store.Collection[LargeResult], limit int) (ToolMiddleware, Tool) {
	limit = max(limit, 256)
	keep := func(next ToolFunc) ToolFunc {
		return func(ctx context.Context, c Call) ([]Content, error) {
			parts, err := next(ctx, c)
			text := TextOf(parts)
			if err != nil || len(text) <= limit || c.Tool == readResult || graph.CurrentTask(ctx).Key == "" {
				return parts, err
			}
			sum := sha256.Sum256([]byte(graph.CurrentTask(ctx).Key))
			handle := hex.EncodeToString(sum[:8])
			if _, err := results.Put(ctx, handle, LargeResult{Tool: c.Tool, Text: text}); err != nil {
				return nil, err
			}
			kept := []Content{&Text{Text: piece(text, handle, 0, limit)}}
			for _, p := range parts {
				if _, ok := p.(*Text); !ok {
					kept = append(kept, p)
				}
			}
			return kept, nil
		}
	}
	type args struct {
		Handle string `json:"handle" jsonschema:"the handle of the result"`
		Offset int    `json:"offset" jsonschema:"the byte at which to begin"`
	}
	read := NewTool(readResult, "reads a large result of a tool in pieces", func(ctx context.Context, in args) (string, error) {
		item, err := results.Get(ctx, in.Handle)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return "", fmt.Errorf("there is no result with the handle %s any more; call its tool again", in.Handle)
		case err != nil:
			return "", err
		}
		return piece(item.Value.Text, in.Handle, in.Offset, limit), nil
	})
	return keep, read
}

// readResult is the name of the tool of KeepLarge.
const readResult = "read_result"

// runeStart returns the beginning of the character at a byte of text, if text is UTF-8 there.
func runeStart(text string, at int) int {
	for n := range min(utf8.UTFMax, at+1) {
		if at == len(text) || utf8.RuneStart(text[at-n]) {
			return at - n
		}
	}
	return at
}

// piece returns about limit bytes of text from offset, with a note on how to read the rest.
func piece(text, handle string, offset, limit int) string {
	begin := runeStart(text, min(max(offset, 0), len(text)))
	end := min(begin+limit, len(text))
	if whole := runeStart(text, end); whole > begin {
		end = whole
	}
	note := "end of the result"
	if end < len(text) {
		note = fmt.Sprintf("%s has the rest: handle %s, offset %d", readResult, handle, end)
	}
	return fmt.Sprintf("%s\n[bytes %d to %d of %d; %s]", text[begin:end], begin, end, len(text), note)
}

package sqlsaver

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Post stores messages, as [checkpoint.Inbox] says. It is one transaction, which locks threads in
// the order of their keys.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) (done []checkpoint.Posted, err error) {
	if err := checkPosts(posts); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if len(posts) == 0 {
		return nil, nil
	}
	if s.has(stPost) {
		err = s.try(ctx, Lost, func() error {
			done, err = s.postCall(ctx, s.db, posts)
			return err
		})
	} else {
		err = s.share(ctx, Lost, func(tx Tx) error {
			done, err = s.postIn(ctx, tx, posts)
			return err
		})
	}
	if err != nil {
		return nil, s.wrapWrite(ctx, "post", err, ledger.LargestMessage(posts))
	}
	return done, nil
}

// InTx returns a Poster that posts in a transaction of the caller. It does not retry.
func InTx(s *Saver, tx Runner) checkpoint.Poster { return inTx{s, tx} }

type inTx struct {
	*Saver
	tx Runner
}

func (s inTx) Post(ctx context.Context, posts ...checkpoint.Post) (done []checkpoint.Posted, err error) {
	if err := checkPosts(posts); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	switch {
	case len(posts) == 0:
		return nil, nil
	case s.has(stPost):
		done, err = s.postCall(ctx, s.tx, posts)
	default:
		done, err = s.postIn(ctx, s.tx, posts)
	}
	if err != nil {
		return nil, s.wrapWrite(ctx, "post in a transaction, which must be on the database of the saver", err, ledger.LargestMessage(posts))
	}
	return done, nil
}

func checkPosts(posts []checkpoint.Post) error {
	for i := range posts {
		if err := posts[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// fault says why a Post is refused. The function graph_post returns it.
type fault int64

const (
	faultInputs fault = iota + 1
	faultOthers
	faultNotIdle
)

// err returns the error of a Post that was refused.
func (f fault) err(p *checkpoint.Post) error {
	inputs, others := ledger.Limits(p)
	switch f {
	case faultInputs:
		return ledger.Full(p.Thread, "inputs", inputs)
	case faultOthers:
		return ledger.Full(p.Thread, "answers, signals and cancels", others)
	case faultNotIdle:
		return ledger.NotIdle(p.Thread)
	}
	return fmt.Errorf("graph_post refuses for a reason %d that this program does not know: update the program", f)
}

// byThread returns the indexes of posts in the order of the ids of their threads.
func byThread(posts []checkpoint.Post) []int {
	order := make([]int, len(posts))
	for i := range posts {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(posts[a].Thread, posts[b].Thread) })
	return order
}

// hexOf returns bytes as JSON has them, nil as null.
func hexOf(b []byte) *string {
	if b == nil {
		return nil
	}
	text := hex.EncodeToString(b)
	return &text
}

// labelPairs returns labels in hex, by name.
func labelPairs(labels map[string]string) [][2]string {
	pairs := make([][2]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, [2]string{hex.EncodeToString([]byte(name)), hex.EncodeToString([]byte(labels[name]))})
	}
	return pairs
}

// postJSON is a Post as the function graph_post of PostgreSQL reads it.
type postJSON struct {
	Key       *string       `json:"key"`
	Graph     *string       `json:"graph"`
	Title     *string       `json:"title"`
	Labels    *string       `json:"labels"`
	LabelList [][2]string   `json:"label_list"`
	Priority  int64         `json:"priority"`
	Idle      bool          `json:"idle"`
	MaxInputs int           `json:"max_inputs"`
	MaxOthers int           `json:"max_others"`
	Messages  []messageJSON `json:"messages"`
}

type messageJSON struct {
	ID      *string `json:"id"`
	Kind    int64   `json:"kind"`
	Head    *string `json:"head"`
	Payload int     `json:"payload"` // from 1
}

// postCall stores posts by one statement, which calls a function of the server.
func (s *Saver) postCall(ctx context.Context, db Runner, posts []checkpoint.Post) ([]checkpoint.Posted, error) {
	order := byThread(posts)
	list, payloads := make([]postJSON, len(posts)), [][]byte{}
	for n, i := range order {
		p := &posts[i]
		j := postJSON{
			Key: hexOf([]byte(p.Thread)), Graph: hexOf([]byte(p.Graph)), Title: hexOf([]byte(p.Title)),
			Labels: hexOf(labelsColumn(p.Labels)), LabelList: labelPairs(p.Labels), Priority: int64(p.Priority), Idle: p.Idle,
		}
		j.MaxInputs, j.MaxOthers = ledger.Limits(p)
		for k := range p.Messages {
			m := &p.Messages[k]
			payloads = append(payloads, mailPayload(p.Thread, m.ID, m.Payload))
			j.Messages = append(j.Messages, messageJSON{hexOf(mailID(m.ID)), int64(m.Kind), hexOf(mailHead(p.Thread, m)), len(payloads)})
		}
		list[n] = j
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	rows, err := s.query(ctx, db, stPost, string(text), payloads)
	if err != nil {
		return nil, err
	}
	done := make([]checkpoint.Posted, len(posts))
	return done, each(rows, func(rows Rows) error {
		var at int64
		var refused fault
		var message, number *int64
		var known *bool
		if err := rows.Scan(&at, &message, &number, &known, &refused); err != nil {
			return err
		}
		i := order[at-1]
		if refused > 0 {
			done[i].Err = refused.err(&posts[i])
			return nil
		}
		done[i].Messages = append(done[i].Messages, checkpoint.PostedMessage{Number: uint64(*number), Known: *known})
		return nil
	})
}

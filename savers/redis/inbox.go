package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Post stores messages, as [checkpoint.Inbox] says. It is one round trip if each thread has the
// Graph and the Priority of its Post. Otherwise the server names them, and the call repeats those
// posts. On a cluster, the index takes one more round trip, and a second one if a thread became
// due. Of several posts for one thread, each takes round trips of its own, so that they keep their
// order.
func (s *Saver) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		if err := posts[i].Check(); err != nil {
			return nil, err
		}
	}
	token, err := checkpoint.NewID()
	if err != nil {
		return nil, err
	}
	results := make([]checkpoint.Posted, len(posts))
	for _, at := range waves(posts) {
		if err := s.postWave(ctx, posts, at, token, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// waves returns the places of posts: first those of the first post of each thread, then those of
// the second ones, and so on.
func waves(posts []checkpoint.Post) (all [][]int) {
	counts := make(map[string]int, len(posts))
	for i := range posts {
		n := counts[posts[i].Thread]
		counts[posts[i].Thread]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// postWave stores the posts at some places. They are for different threads.
func (s *Saver) postWave(ctx context.Context, posts []checkpoint.Post, at []int, token checkpoint.ID, results []checkpoint.Posted) error {
	todo := make([]announced, len(at))
	for n, i := range at {
		binary.BigEndian.PutUint32(token[12:], uint32(i)) // a Post of its own
		todo[n] = s.posting(&posts[i], token)
	}
	todo[0].over = s.takeOver()
	for range maxAnnounced {
		replies, err := s.postAll(ctx, todo)
		if err != nil {
			return err
		}
		again, left := todo[:0], at[:0]
		for i, r := range replies {
			if r.announce() {
				call := todo[i]
				call.tell(r.text(), "")
				again, left = append(again, call), append(left, at[i])
			} else {
				results[at[i]] = r.posted(&posts[at[i]])
				s.created(todo[i].thread, todo[i].id, r.made())
			}
		}
		if todo, at = again, left; len(todo) == 0 {
			return nil
		}
	}
	return fmt.Errorf("redis: post: thread %q: %w", short(posts[at[0]].Thread), errQueues)
}

// posting returns the call of post.lua for a post.
func (s *Saver) posting(p *checkpoint.Post, token checkpoint.ID) announced {
	idle := ""
	if p.Idle {
		idle = "i"
	}
	args := make([]any, 11, 11+4*len(p.Messages))
	args[2], args[3], args[4] = token[:], p.Thread, idle
	args[5], args[6] = ledger.Limits(p)
	args[7], args[8], args[9] = p.Graph, p.Title, encodeLabels(p.Labels)
	args[10] = priorityArg(p.Priority)
	for i := range p.Messages {
		m := &p.Messages[i]
		args = append(args, int(m.Kind), m.ID, encodeAbout(p.Thread, m), encodeBody(p.Thread, m.Payload))
	}
	call := announced{s: s, thread: p.Thread, sets: s.setsOf(p.Graph, p.Labels), fresh: true, script: s.script.post, args: args, notice: 0, stamp: 1}
	call.tell(queue(p.Priority, p.Graph), "")
	return call
}

// postAll makes the calls together.
func (s *Saver) postAll(ctx context.Context, calls []announced) ([]*reply, error) {
	for i := range calls {
		if err := calls[i].newStamp(); err != nil {
			return nil, err
		}
	}
	got := make(chan []*reply, 1)
	err := s.do(ctx, "post", func(ctx context.Context) error {
		replies, err := s.announceAll(ctx, calls)
		if err == nil {
			got <- replies
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

// posted reads the answer of post.lua.
func (r *reply) posted(p *checkpoint.Post) checkpoint.Posted {
	outcome := r.text()
	r.text() // whether the thread became due
	var result checkpoint.Posted
	numbers := r.list()
	for numbers.more() {
		result.Messages = append(result.Messages, checkpoint.PostedMessage{Number: numbers.optional(), Known: numbers.text() == "1"})
	}
	r.join(numbers)
	switch {
	case r.err != nil:
		return checkpoint.Posted{Err: fmt.Errorf("redis: post: thread %q: %w", short(p.Thread), r.err)}
	case outcome == "idle":
		return checkpoint.Posted{Err: ledger.NotIdle(p.Thread)}
	case outcome == "inputs":
		inputs, _ := ledger.Limits(p)
		return checkpoint.Posted{Err: ledger.Full(p.Thread, outcome, inputs)}
	case outcome == "others":
		_, others := ledger.Limits(p)
		return checkpoint.Posted{Err: ledger.Full(p.Thread, "answers, signals and cancels", others)}
	}
	return result
}

// made returns the creation time in the answer of post.lua, 0 if it is unknown.
func (r *reply) made() int64 {
	if r.err != nil || !r.more() {
		return 0
	}
	return r.number()
}

// mailBytes is how many bytes of messages are read together.
const mailBytes = fullBytes

// Mail returns messages, as [checkpoint.Inbox] says. It reads them in pages of about a megabyte.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var all []checkpoint.Message
	for more := true; more; {
		kind, left := "", 0
		if q.Refused {
			kind = "r"
		}
		if q.Limit > 0 {
			left = q.Limit - len(all)
		}
		r, err := s.call(ctx, "mail", s.script.mail, []string{s.key(q.Thread)}, q.After, left, kind, mailBytes)
		if err != nil {
			return nil, err
		}
		r.text()
		more = r.text() == "1"
		page := r.messages(q.Thread)
		if r.err != nil {
			return nil, fmt.Errorf("redis: mail: thread %q: %w", short(q.Thread), r.err)
		}
		if all = append(all, page...); len(page) == 0 || q.Limit > 0 && len(all) >= q.Limit {
			break
		}
		q.After = page[len(page)-1].Number
	}
	return all, nil
}

// messages reads a list of messages.
func (r *reply) messages(thread string) []checkpoint.Message {
	l := r.list()
	var all []checkpoint.Message
	for l.more() {
		number, header, body := l.seq(), l.text(), l.text()
		if l.err != nil {
			break
		}
		m, err := decodeMessage(thread, number, header, body)
		l.check(err)
		all = append(all, m)
	}
	r.join(l)
	return all
}

// News returns the numbers of the newest messages, as [checkpoint.Inbox] says.
func (s *Saver) News(ctx context.Context, threads []string) ([]uint64, error) {
	keys := make([]string, len(threads))
	for i, thread := range threads {
		if err := checkpoint.CheckThread(thread); err != nil {
			return nil, err
		}
		keys[i] = s.key(thread)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	replies, err := s.all(ctx, "news", s.script.news, keys)
	if err != nil {
		return nil, err
	}
	numbers := make([]uint64, len(threads))
	for i, r := range replies {
		r.text()
		if numbers[i] = r.seq(); r.err != nil {
			return nil, fmt.Errorf("redis: news: thread %q: %w", short(threads[i]), r.err)
		}
	}
	return numbers, nil
}

// all runs a script on many keys as one call of the saver.
func (s *Saver) all(ctx context.Context, what string, script *goredis.Script, keys []string) ([]*reply, error) {
	got := make(chan []*reply, 1)
	err := s.do(ctx, what, func(ctx context.Context) error {
		replies, err := s.runAll(ctx, script, keys)
		if err == nil {
			got <- replies
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

// handledArgs appends the arguments for the messages that a write handles.
func handledArgs(args []any, thread string, h *checkpoint.Handled) []any {
	if h.Empty() {
		return append(args, "")
	}
	args = append(args, "1", len(h.Return))
	for i := range h.Return {
		args = append(args, strconv.FormatUint(h.Return[i].Number, 10), encodeBody(thread, h.Return[i].Payload))
	}
	args = append(args, len(h.Take))
	for _, n := range h.Take {
		args = append(args, strconv.FormatUint(n, 10))
	}
	args = append(args, len(h.Refuse))
	for i := range h.Refuse {
		args = append(args, strconv.FormatUint(h.Refuse[i].Number, 10), h.Refuse[i].Reason)
	}
	return args
}

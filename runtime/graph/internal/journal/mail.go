package journal

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Input is the payload of an InputMessage.
type Input struct {
	Update   []byte
	Discard  bool // the input begins although tasks are due, and drops them
	Title    string
	Labels   map[string]string
	Metadata map[string]string
}

// inputFormat is the number of the form of an Input.
const inputFormat = 1

// AppendInput appends an input as an array. Its elements are the number of the format, the update
// as binary, whether due tasks are dropped, the title, the labels and the metadata.
func AppendInput(b []byte, in *Input) []byte {
	b = wire.AppendUint(wire.AppendArrayLen(b, 6), inputFormat)
	b = wire.AppendBool(wire.AppendBytes(b, in.Update), in.Discard)
	b = wire.AppendString(b, in.Title)
	return appendStrings(appendStrings(b, in.Labels), in.Metadata)
}

func appendStrings(b []byte, m map[string]string) []byte {
	b = wire.AppendMapLen(b, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = wire.AppendString(wire.AppendString(b, key), m[key])
	}
	return b
}

// ReadInput reads what AppendInput wrote. An input in another format is an *InputFormatError.
func ReadInput(b []byte) (in Input, err error) {
	r := wire.NewReader("input", b)
	n := r.ArrayLen()
	stored := r.Uint64()
	if r.OK() && stored != inputFormat {
		return Input{}, &InputFormatError{Stored: stored}
	}
	if n != 6 {
		r.Damage(0, fmt.Errorf("got %d elements; want the 6 of an input", n))
	}
	in.Update, in.Discard, in.Title = r.Bytes(), r.Bool(), r.Str()
	in.Labels, in.Metadata = readStrings(&r), readStrings(&r)
	err = r.End()
	if !r.Framed() {
		return Input{}, err
	}
	return in, err
}

func readStrings(r *wire.Reader) map[string]string {
	var m map[string]string
	for range r.MapLen() {
		key, value := r.Str(), r.Str()
		if !r.OK() {
			break
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[key] = value
	}
	return m
}

// InputFormatError reports an input that another version of this package has written.
type InputFormatError struct{ Stored uint64 }

func (e *InputFormatError) Error() string {
	return fmt.Sprintf("the input is stored in format %d, and this program reads format %d; let workers of the version that submitted it run it", e.Stored, inputFormat)
}

// SetMark notes in the record that begins a run line the number of the newest message that was
// posted before it. A cancel with a greater number ends the line. With least, newer messages may
// have been posted before it, too.
func SetMark(meta map[string]string, number uint64, least bool) {
	meta[metaMark] = strconv.FormatUint(number, 10)
	if least {
		meta[metaMark] += atLeast
	}
}

// atLeast follows the number of a mark that is a lower bound.
const atLeast = "+"

// Mark returns what SetMark noted. Without a mark it returns 0, which is a lower bound.
func Mark(meta map[string]string) (number uint64, least bool) {
	text, least := strings.CutSuffix(meta[metaMark], atLeast)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, true
	}
	return n, least
}

// Opened implements Log.
func (s *Sync) Opened() uint64 { return s.opened }

// Birth implements Log.
func (s *Sync) Birth() checkpoint.ID { return s.birth }

// Posted implements Log.
func (s *Sync) Posted() uint64 { return s.posted.Load() }

// learned notes the number of the newest message, which a write or a question has reported.
func (s *Sync) learned(posted uint64) {
	if raise(&s.posted, posted) && posted > s.seen.Load() && s.News != nil {
		s.News()
	}
}

// raise makes n at least to, and reports whether it was less. Replies may arrive out of order.
func raise(n *atomic.Uint64, to uint64) bool {
	for known := n.Load(); to > known; known = n.Load() {
		if n.CompareAndSwap(known, to) {
			return true
		}
	}
	return false
}

// See implements Log.
func (s *Sync) See(newest uint64, waits Inputs) {
	raise(&s.seen, newest)
	s.waits.Store(int32(waits))
}

// Seen implements Log.
func (s *Sync) Seen() (newest uint64, waits Inputs) {
	return s.seen.Load(), Inputs(s.waits.Load())
}

// messages returns what a write says of the messages of the thread. The End of a run names the
// newest message that it has looked at, so that a newer one makes the thread due. For other
// writes it is enough that the run knows that there is one.
func (s *Sync) messages(e *Entry) checkpoint.Handled {
	h := e.Messages
	h.Seen = s.seen.Load()
	if !e.End {
		h.Seen = max(h.Seen, s.posted.Load())
	}
	return h
}

// reportRefused reports the messages that a stored write has refused.
func (s *Sync) reportRefused(e *Entry) {
	if s.Refused == nil {
		return
	}
	for _, r := range e.Messages.Refuse {
		s.Refused(r)
	}
}

// addMessages adds the messages that a later write takes, refuses, returns or replies to. A saver
// returns messages before it takes others. So a message that is taken and then returned is not
// taken. One that is returned and then taken is not returned, because an earlier write may take
// it.
func addMessages(to *checkpoint.Handled, h *checkpoint.Handled) {
	if h.Empty() {
		return
	}
	for i := range h.Return {
		to.Take = slices.DeleteFunc(slices.Clone(to.Take), func(n uint64) bool { return n == h.Return[i].Number })
	}
	to.Return = slices.DeleteFunc(slices.Clone(to.Return), func(m checkpoint.Message) bool { return slices.Contains(h.Take, m.Number) })
	to.Take = append(slices.Clip(to.Take), h.Take...)
	to.Refuse = append(slices.Clip(to.Refuse), h.Refuse...)
	to.Return = append(slices.Clip(to.Return), h.Return...)
	to.Reply = append(slices.Clip(to.Reply), h.Reply...)
}

// Package hand writes, reads and copies the reference state. It shows what a person would write
// by hand for this one type, with speed as the only goal. It is the floor for generated code, and
// writes the same bytes.
package hand

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// Append appends s to b.
func Append(b []byte, s *reference.State) []byte {
	b = append(b, 0x8c)
	b = append(b, "\xa6Counts"...)
	b = mapLen(b, len(s.Counts))
	var room [32]string
	for _, k := range sorted(room[:0], s.Counts) {
		b = num(str(b, k), s.Counts[k])
	}
	b = boolean(append(b, "\xa4Done"...), s.Done)
	b = append(b, "\xa5Facts"...)
	b = mapLen(b, len(s.Facts))
	for _, k := range sorted(room[:0], s.Facts) {
		f := s.Facts[k]
		b = append(str(b, k), 0x83)
		b = str(append(b, "\xa6Source"...), f.Source)
		b = str(append(b, "\xa4Text"...), f.Text)
		b = float(append(b, "\xa5Score"...), f.Score)
	}
	b = bin(append(b, "\xa2"+"ID"...), s.ID[:])
	b = append(b, "\xa8Messages"...)
	b = arrayLen(b, len(s.Messages))
	for i := range s.Messages {
		b = message(b, &s.Messages[i])
	}
	b = plan(append(b, "\xa4Plan"...), s.Plan)
	b = str(append(b, "\xa5Query"...), s.Query)
	b = stamp(append(b, "\xa7Started"...), s.Started)
	b = str(append(b, "\xa6Status"...), string(s.Status))
	b = num(append(b, "\xa4Step"...), int64(s.Step))
	b = num(append(b, "\xa6Tokens"...), s.Tokens)
	b = append(b, "\xa6Vector"...)
	b = arrayLen(b, len(s.Vector))
	for _, v := range s.Vector {
		b = float(b, v)
	}
	return b
}

func message(b []byte, m *reference.Message) []byte {
	b = append(b, 0x85)
	b = str(append(b, "\xa2"+"ID"...), m.ID)
	b = str(append(b, "\xa4Role"...), string(m.Role))
	b = str(append(b, "\xa4Text"...), m.Text)
	b = stamp(append(b, "\xa2At"...), m.At)
	b = append(b, "\xa5Calls"...)
	if m.Calls == nil {
		return append(b, 0xc0)
	}
	b = arrayLen(b, len(m.Calls))
	for i := range m.Calls {
		c := &m.Calls[i]
		b = append(b, 0x83)
		b = str(append(b, "\xa2"+"ID"...), c.ID)
		b = str(append(b, "\xa4Tool"...), c.Tool)
		b = bin(append(b, "\xa4Args"...), c.Args)
	}
	return b
}

func plan(b []byte, p *reference.Plan) []byte {
	if p == nil {
		return append(b, 0xc0)
	}
	b = append(b, 0x83)
	b = str(append(b, "\xa4Goal"...), p.Goal)
	b = append(b, "\xa5Steps"...)
	if p.Steps == nil {
		b = append(b, 0xc0)
	} else {
		b = arrayLen(b, len(p.Steps))
		for _, s := range p.Steps {
			b = str(b, s)
		}
	}
	return plan(append(b, "\xa4Next"...), p.Next)
}

func sorted[V any](keys []string, m map[string]V) []string {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func str(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n < 256:
		b = append(b, 0xd9, byte(n))
	case n < 65536:
		b = append(b, 0xda, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

func bin(b, v []byte) []byte {
	switch n := len(v); {
	case v == nil:
		return append(b, 0xc0)
	case n < 256:
		b = append(b, 0xc4, byte(n))
	case n < 65536:
		b = append(b, 0xc5, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, v...)
}

func num(b []byte, v int64) []byte {
	switch {
	case v >= -32 && v < 128:
		return append(b, byte(v))
	case v >= 0 && v < 256:
		return append(b, 0xcc, byte(v))
	case v >= 0 && v < 65536:
		return append(b, 0xcd, byte(v>>8), byte(v))
	case v >= 0 && v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	case v >= 0:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), uint64(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(v))
}

func float(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0xcb), math.Float64bits(v))
}

func boolean(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

func arrayLen(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return append(b, 0xdc, byte(n>>8), byte(n))
}

func mapLen(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x80|byte(n))
	}
	return append(b, 0xde, byte(n>>8), byte(n))
}

func stamp(b []byte, t time.Time) []byte {
	sec, nsec := uint64(t.Unix()), uint64(t.Nanosecond())
	if nsec == 0 && sec <= math.MaxUint32 {
		return binary.BigEndian.AppendUint32(append(b, 0xd6, 0xff), uint32(sec))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd7, 0xff), nsec<<34|sec)
}

// Clone returns a deep copy of s.
func Clone(s *reference.State) reference.State {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Calls = slices.Clone(m.Calls)
		for k := range m.Calls {
			m.Calls[k].Args = slices.Clone(m.Calls[k].Args)
		}
	}
	c.Facts = maps.Clone(s.Facts)
	c.Counts = maps.Clone(s.Counts)
	c.Vector = slices.Clone(s.Vector)
	c.Plan = clonePlan(s.Plan)
	return c
}

func clonePlan(p *reference.Plan) *reference.Plan {
	if p == nil {
		return nil
	}
	return &reference.Plan{Goal: p.Goal, Steps: slices.Clone(p.Steps), Next: clonePlan(p.Next)}
}

// Decode decodes the output of Append. Strings are parts of one copy of the data. Decode returns
// an error for anything unexpected, without the cause or the place.
func Decode(data []byte, s *reference.State) error {
	r := reader{s: string(data)}
	for range r.len(0x80, 0xde) {
		switch r.str() {
		case "Counts":
			n := r.len(0x80, 0xde)
			s.Counts = make(map[string]int64, n)
			for range n {
				k := r.str()
				s.Counts[k] = r.num()
			}
		case "Done":
			s.Done = r.byte() == 0xc3
		case "Facts":
			n := r.len(0x80, 0xde)
			s.Facts = make(map[string]reference.Fact, n)
			for range n {
				k := r.str()
				s.Facts[k] = r.fact()
			}
		case "ID":
			copy(s.ID[:], r.bin())
		case "Messages":
			s.Messages = make([]reference.Message, r.len(0x90, 0xdc))
			for i := range s.Messages {
				r.message(&s.Messages[i])
			}
		case "Plan":
			s.Plan = r.plan()
		case "Query":
			s.Query = r.str()
		case "Started":
			s.Started = r.time()
		case "Status":
			s.Status = reference.Status(r.str())
		case "Step":
			s.Step = int(r.num())
		case "Tokens":
			s.Tokens = r.num()
		case "Vector":
			s.Vector = make([]float64, r.len(0x90, 0xdc))
			for i := range s.Vector {
				s.Vector[i] = r.float()
			}
		default:
			r.bad = true
		}
	}
	if r.bad || r.i != len(r.s) {
		return errors.New("hand: bad data")
	}
	return nil
}

type reader struct {
	s   string
	i   int
	bad bool
}

func (r *reader) fact() (f reference.Fact) {
	for range r.len(0x80, 0xde) {
		switch r.str() {
		case "Source":
			f.Source = r.str()
		case "Text":
			f.Text = r.str()
		case "Score":
			f.Score = r.float()
		default:
			r.bad = true
		}
	}
	return f
}

func (r *reader) message(m *reference.Message) {
	for range r.len(0x80, 0xde) {
		switch r.str() {
		case "ID":
			m.ID = r.str()
		case "Role":
			m.Role = reference.Status(r.str())
		case "Text":
			m.Text = r.str()
		case "At":
			m.At = r.time()
		case "Calls":
			if r.null() {
				continue
			}
			m.Calls = make([]reference.ToolCall, r.len(0x90, 0xdc))
			for i := range m.Calls {
				r.call(&m.Calls[i])
			}
		default:
			r.bad = true
		}
	}
}

func (r *reader) call(c *reference.ToolCall) {
	for range r.len(0x80, 0xde) {
		switch r.str() {
		case "ID":
			c.ID = r.str()
		case "Tool":
			c.Tool = r.str()
		case "Args":
			c.Args = []byte(r.bin())
		default:
			r.bad = true
		}
	}
}

func (r *reader) plan() *reference.Plan {
	if r.null() {
		return nil
	}
	p := new(reference.Plan)
	for range r.len(0x80, 0xde) {
		switch r.str() {
		case "Goal":
			p.Goal = r.str()
		case "Steps":
			if r.null() {
				continue
			}
			p.Steps = make([]string, r.len(0x90, 0xdc))
			for i := range p.Steps {
				p.Steps[i] = r.str()
			}
		case "Next":
			p.Next = r.plan()
		default:
			r.bad = true
		}
	}
	return p
}

// take returns the next n bytes, or "" if fewer are left.
func (r *reader) take(n int) string {
	if n > len(r.s)-r.i {
		r.bad = true
		r.i = len(r.s)
		return ""
	}
	r.i += n
	return r.s[r.i-n : r.i]
}

func (r *reader) byte() byte {
	if r.i == len(r.s) {
		r.bad = true
		return 0xc1
	}
	r.i++
	return r.s[r.i-1]
}

func (r *reader) null() bool {
	if r.i < len(r.s) && r.s[r.i] == 0xc0 {
		r.i++
		return true
	}
	return false
}

func (r *reader) uint(n int) uint64 {
	var v uint64
	for _, c := range []byte(r.take(n)) {
		v = v<<8 | uint64(c)
	}
	return v
}

// len reads the head of an array or map. It refuses a length that the data cannot hold.
func (r *reader) len(fix, code16 byte) int {
	c := r.byte()
	n := 0
	switch {
	case c&0xf0 == fix:
		n = int(c & 0x0f)
	case c == code16:
		n = int(r.uint(2))
	default:
		r.bad = true
	}
	if n > len(r.s)-r.i {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) str() string {
	switch c := r.byte(); {
	case c&0xe0 == 0xa0:
		return r.take(int(c & 0x1f))
	case c == 0xd9:
		return r.take(int(r.uint(1)))
	case c == 0xda:
		return r.take(int(r.uint(2)))
	case c == 0xdb:
		return r.take(int(r.uint(4)))
	}
	r.bad = true
	return ""
}

func (r *reader) bin() string {
	switch r.byte() {
	case 0xc4:
		return r.take(int(r.uint(1)))
	case 0xc5:
		return r.take(int(r.uint(2)))
	case 0xc6:
		return r.take(int(r.uint(4)))
	}
	r.bad = true
	return ""
}

func (r *reader) num() int64 {
	switch c := r.byte(); {
	case c < 0x80 || c >= 0xe0:
		return int64(int8(c))
	case c >= 0xcc && c <= 0xcf:
		return int64(r.uint(1 << (c - 0xcc)))
	case c == 0xd3:
		return int64(r.uint(8))
	}
	r.bad = true
	return 0
}

func (r *reader) float() float64 {
	r.bad = r.bad || r.byte() != 0xcb
	b := r.take(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
		uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7]))
}

func (r *reader) time() time.Time {
	switch r.byte() {
	case 0xd6:
		r.take(1)
		return time.Unix(int64(r.uint(4)), 0).UTC()
	case 0xd7:
		r.take(1)
		v := r.uint(8)
		return time.Unix(int64(v&(1<<34-1)), int64(v>>34)).UTC()
	}
	r.bad = true
	return time.Time{}
}

package wire

// UnknownTag fails at offset, because tag is not the name of a member of the union.
func (r *Reader) UnknownTag(offset int, union, tag string) {
	if r.err != nil {
		return
	}
	r.i = offset
	r.fail(Unknown, union, tag)
}

// Tag reads the start of a union's value: the head of a map with one pair, and its key. It returns
// the key, which names the member. The member's value is next.
func (r *Reader) Tag(union string) string {
	at := r.i
	if n := r.MapLen(); n != 1 {
		if r.err == nil {
			r.i = at
			r.fail(Mismatch, union+", a map of one", "map of "+formatNumber(uint64(n), false))
		}
		return ""
	}
	return r.Str()
}

// Wire reads the next value and calls decode, a DecodeWire method, with its bytes. The Reader
// fails with the error that decode returns.
func (r *Reader) Wire(decode func(b []byte) error) {
	at := r.i
	raw := r.Raw()
	if r.err == nil {
		r.hand(at, []byte(raw), decode)
	}
}

// Binary reads bytes and calls unmarshal, an UnmarshalBinary method, with them. The Reader fails
// with the error that unmarshal returns.
func (r *Reader) Binary(unmarshal func(b []byte) error) {
	at := r.i
	n := r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1)
	if r.err == nil {
		r.hand(at, []byte(r.take(n)), unmarshal)
	}
}

// Text reads a string and calls unmarshal, an UnmarshalText method, with it. The Reader fails with
// the error that unmarshal returns.
func (r *Reader) Text(unmarshal func(b []byte) error) {
	at := r.i
	v := r.Str()
	if r.err == nil {
		r.hand(at, []byte(v), unmarshal)
	}
}

func (r *Reader) hand(at int, b []byte, decode func(b []byte) error) {
	if err := decode(b); err != nil {
		r.Fail(at, err)
	}
}

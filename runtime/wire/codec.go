package wire

// UnknownTag fails at offset: the tag of a union names none of its members.
func (r *Reader) UnknownTag(offset int, union, tag string) {
	if r.err != nil {
		return
	}
	r.i = offset
	r.fail(Unknown, union, tag)
}

// Tag reads the head of a union's value, a map of one pair, and its key, which names the member. The
// member's value is next.
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

// Wire hands the bytes of the next value to decode, a DecodeWire method. An error it returns is the
// Reader's.
func (r *Reader) Wire(decode func(b []byte) error) {
	at := r.i
	raw := r.Raw()
	if r.err == nil {
		r.hand(at, []byte(raw), decode)
	}
}

// Binary reads bytes and hands them to unmarshal, an UnmarshalBinary method. An error it returns is the
// Reader's.
func (r *Reader) Binary(unmarshal func(b []byte) error) {
	at := r.i
	n := r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1)
	if r.err == nil {
		r.hand(at, []byte(r.take(n)), unmarshal)
	}
}

// Text reads a string and hands it to unmarshal, an UnmarshalText method. An error it returns is the
// Reader's.
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

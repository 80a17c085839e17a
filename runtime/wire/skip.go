package wire

// Skip reads one value of any kind and discards it.
func (r *Reader) Skip() {
	for todo := 1; todo > 0 && r.err == nil; todo-- {
		todo += r.skipHead()
	}
}

// skipHead reads one value without its elements and returns the number of elements that follow.
func (r *Reader) skipHead() int {
	c := r.Peek()
	switch {
	case r.i >= len(r.s):
		r.mismatch("a value")
	case c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		r.i++
	case IsMap(c):
		return 2 * r.MapLen()
	case IsArray(c):
		return r.ArrayLen()
	case IsString(c):
		r.Str()
	case IsBytes(c):
		r.take(r.length("bytes", 0, 0xc4, 0xc5, 0xc6, 1))
	case c >= 0xc7 && c <= 0xc9:
		r.skipBytes(1 + 1<<(c-0xc7) + 1 + r.extLen(c))
	case c == 0xca:
		r.skipBytes(5)
	case c == 0xcb:
		r.skipBytes(9)
	case c >= 0xcc && c <= 0xd3:
		r.skipBytes(1 + 1<<(c&3))
	case c >= 0xd4 && c <= 0xd8:
		r.skipBytes(2 + 1<<(c-0xd4))
	default:
		r.mismatch("a value")
	}
	return 0
}

func (r *Reader) extLen(c byte) int {
	n, _ := r.bits(1, 1<<(c-0xc7)) // truncated data also fails in skipBytes
	return int(n)
}

func (r *Reader) skipBytes(n int) {
	if n > len(r.s)-r.i {
		r.fail(Truncated, "a value", "the end of the data")
		return
	}
	r.i += n
}

// Raw reads one value of any kind and returns its bytes, which share the memory of the input.
func (r *Reader) Raw() string {
	from := r.i
	r.Skip()
	if r.err != nil {
		return ""
	}
	return r.s[from:r.i]
}

// Unknown reads the value of the struct field name, which the code does not know. The caller has
// just read the name. It fails with [ErrUnknownField] unless DropUnknown was called.
func (r *Reader) Unknown(name string) {
	if r.drop {
		r.Skip()
		return
	}
	r.fail(Unknown, "", "")
	if r.err.Kind == Unknown && r.err.Found == "" {
		r.err.Found = name
	}
}

package wire

// The functions of this file classify a value by its first byte, which Reader.Peek returns. They
// suit code that does not know the type of the value.

// IsInt reports whether a value that starts with c is an integer.
func IsInt(c byte) bool { return c < 0x80 || c >= 0xe0 || c >= 0xcc && c <= 0xd3 }

// IsMap reports whether a value that starts with c is a map.
func IsMap(c byte) bool { return c&0xf0 == 0x80 || c == 0xde || c == 0xdf }

// IsArray reports whether a value that starts with c is an array.
func IsArray(c byte) bool { return c&0xf0 == 0x90 || c == 0xdc || c == 0xdd }

// IsString reports whether a value that starts with c is a string.
func IsString(c byte) bool { return c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb }

// IsBytes reports whether a value that starts with c is a byte string.
func IsBytes(c byte) bool { return c >= 0xc4 && c <= 0xc6 }

package file

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of files. An id is escaped, so that every id has its own name on every file system, even
// a case-insensitive one. Lower-case letters, digits and '_' stand for themselves. Every other
// byte is '%' and two hexadecimal digits. An escaped id has no '-', so no id's file is another
// id's version. If the escaped id is too long for a file name, the name is '~' and a hash of the
// id. The file's header has the id.
const (
	prefix   = "thread-"
	suffix   = ".saver"
	longest  = 128 // bytes of an escaped id
	nextName = ".next"
	goneName = ".deleted"
	lockName = "graphgen.lock"
)

// baseName returns the name of a thread's files, without the suffix.
func baseName(id string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.WriteString(prefix)
	for i := range len(id) {
		c := id[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
		if b.Len() > len(prefix)+longest {
			sum := sha256.Sum256([]byte(id))
			return prefix + "~" + hex.EncodeToString(sum[:])
		}
	}
	return b.String()
}

// parseName returns the base name of a thread's open version, and the thread's id unless the name
// is a hash. ok reports whether baseName could return the name.
func parseName(name string) (base, id string, ok bool) {
	base, ok = strings.CutSuffix(name, suffix)
	if !ok {
		return "", "", false
	}
	escaped, ok := strings.CutPrefix(base, prefix)
	if !ok || escaped == "" {
		return "", "", false
	}
	if sum, hashed := strings.CutPrefix(escaped, "~"); hashed {
		raw, err := hex.DecodeString(sum)
		return base, "", err == nil && len(raw) == sha256.Size
	}
	id, ok = unescape(escaped)
	return base, id, ok && baseName(id) == base
}

// unescape returns the text that a file name stands for, and false if no text has that name.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+3 > len(s) {
			return "", false
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), true
}

// path returns the path of a thread's file; number 0 is the open version.
func (s *Saver) path(base string, number int) string {
	if number > 0 {
		base += "-v" + strconv.Itoa(number)
	}
	return filepath.Join(s.dir, base+suffix)
}

// siblingPath returns the path of another file of a thread.
func (s *Saver) siblingPath(base, kind string) string { return filepath.Join(s.dir, base+kind) }

// parseVersion returns the number of a thread's released version from the name of its file.
func parseVersion(name, base string) (int, bool) {
	digits, ok := strings.CutPrefix(name, base+"-v")
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, suffix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0
}

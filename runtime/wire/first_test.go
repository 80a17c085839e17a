package wire_test

import (
	"testing"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// TestFirstBytesAreThoseOfMessagePack compares the classes of all first bytes with those of
// another library.
func TestFirstBytesAreThoseOfMessagePack(t *testing.T) {
	for c := range 256 {
		c := byte(c)
		isMap := msgpcode.IsFixedMap(c) || c == msgpcode.Map16 || c == msgpcode.Map32
		isArray := msgpcode.IsFixedArray(c) || c == msgpcode.Array16 || c == msgpcode.Array32
		isInt := msgpcode.IsFixedNum(c) || c >= msgpcode.Uint8 && c <= msgpcode.Uint64 || c >= msgpcode.Int8 && c <= msgpcode.Int64
		for _, class := range []struct {
			name      string
			got, want bool
		}{
			{"IsInt", wire.IsInt(c), isInt},
			{"IsMap", wire.IsMap(c), isMap},
			{"IsArray", wire.IsArray(c), isArray},
			{"IsString", wire.IsString(c), msgpcode.IsString(c)},
			{"IsBytes", wire.IsBytes(c), msgpcode.IsBin(c)},
		} {
			if class.got != class.want {
				t.Errorf("%s(%#x): got %t", class.name, c, class.got)
			}
		}
	}
}

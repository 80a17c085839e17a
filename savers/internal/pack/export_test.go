package pack

import "encoding/binary"

// Seal makes any bytes a pack with the right format and checksum.
func Seal(in Place, b []byte) []byte {
	b = append([]byte{Format}, b...)
	return binary.LittleEndian.AppendUint32(b, in.sum(b))
}

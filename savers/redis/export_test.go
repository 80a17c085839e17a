package redis

// What tests from outside reach of the inside: the decoders.
var (
	EncodeRecord = encodeRecord
	DecodeRecord = decodeRecord
	DecodeHeader = decodeHeader
	DecodeWrite  = decodeWrite
	ParseSeqs    = parseSeqs
	FormatSeqs   = formatSeqs
)

// Key returns the key of a thread.
func Key(prefix, thread string) string { return (&Saver{prefix: prefix}).key(thread) }

// ParseHead reads a namespace's head and forgets it.
func ParseHead(s string) error {
	_, err := parseHead(s)
	return err
}

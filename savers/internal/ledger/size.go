package ledger

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Largest returns the number of bytes of the largest value among records and writes. The payloads
// of the due tasks of a record are one value.
func Largest(records []checkpoint.Record, writes []checkpoint.Write) (size int) {
	for i := range records {
		due := 0
		for j := range records[i].Due {
			due += len(records[i].Due[j].Payload)
		}
		size = max(size, len(records[i].Payload), due)
	}
	for i := range writes {
		size = max(size, len(writes[i].Payload))
	}
	return size
}

// LargestMessage returns the number of bytes of the largest message of posts.
func LargestMessage(posts []checkpoint.Post) (size int) {
	for i := range posts {
		for j := range posts[i].Messages {
			size = max(size, len(posts[i].Messages[j].Payload))
		}
	}
	return size
}

package redis

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// encodeAbout returns the format, the name and the key of a message, with a checksum. The checksum
// also covers the thread, the kind and the id.
func encodeAbout(thread string, m *checkpoint.Message) []byte {
	b := codec.AppendString([]byte{byte(m.Kind)}, m.ID)
	bound := len(b)
	b = codec.AppendString(codec.AppendString(append(b, format), m.Name), m.Key)
	return codec.AppendWriteSum(b, thread)[bound:]
}

// decodeAbout reads what encodeAbout made.
func decodeAbout(thread string, m *checkpoint.Message, about string) error {
	if about == "" {
		return errMalformed
	}
	if about[0] != format {
		return fmt.Errorf("it is of format %d, and this program reads format %d: finish or copy the thread with the program that wrote it", about[0], format)
	}
	b := codec.AppendString([]byte{byte(m.Kind)}, m.ID)
	bound := len(b) + 1
	b, ok := codec.CutWriteSum(append(b, about...), thread)
	if !ok {
		return errSum
	}
	in := codec.NewReader(b[bound:])
	m.Name, m.Key = in.String(), in.String()
	return in.End()
}

// encodeBody returns a payload as it is stored: N, or B and its bytes, and a checksum that binds
// it to the thread.
func encodeBody(thread string, payload []byte) []byte {
	if payload == nil {
		return codec.AppendWriteSum([]byte{'N'}, thread)
	}
	return codec.AppendWriteSum(append([]byte{'B'}, payload...), thread)
}

// placeBytes is the length of the place of a message among those that were taken or refused.
const placeBytes = 6

// encodeHeader returns what the server stores of a message besides its body, as header of
// inbox.lua does. No call posted the message.
func encodeHeader(thread string, m *checkpoint.Message) []byte {
	b := []byte{'u', '0' + byte(m.Kind)}
	switch {
	case m.Refused != "":
		b[0] = 'r'
	case m.Taken:
		b[0] = 't'
	}
	b = append(b, make([]byte, placeBytes)...)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(m.ID))), m.ID...)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(m.Refused))), m.Refused...)
	b = append(b, make([]byte, len(checkpoint.ID{}))...)
	b = append(strconv.AppendInt(b, micro(m.Posted), 10), ':')
	return append(b, encodeAbout(thread, m)...)
}

// decodeMessage reads a message.
func decodeMessage(thread string, number uint64, header, body string) (checkpoint.Message, error) {
	m := checkpoint.Message{Number: number}
	bad := func(err error) (checkpoint.Message, error) {
		return checkpoint.Message{}, fmt.Errorf("message %d: %w", number, err)
	}
	if len(header) < 2+placeBytes || !strings.Contains("utr", header[:1]) {
		return bad(errMalformed)
	}
	m.Kind, m.Taken = checkpoint.MessageKind(header[1]-'0'), header[0] == 't'
	rest := header[2+placeBytes:]
	for _, field := range []*string{&m.ID, &m.Refused} {
		if len(rest) < 2 || len(rest)-2 < int(rest[0])<<8|int(rest[1]) {
			return bad(errMalformed)
		}
		n := int(rest[0])<<8 | int(rest[1])
		*field, rest = rest[2:2+n], rest[2+n:]
	}
	if len(rest) < len(checkpoint.ID{}) {
		return bad(errMalformed)
	}
	posted, about, ok := strings.Cut(rest[len(checkpoint.ID{}):], ":")
	at, err := strconv.ParseInt(posted, 10, 64)
	if !ok || err != nil {
		return bad(errMalformed)
	}
	if m.Posted = codec.Time(at); at == 0 {
		m.Posted = time.Time{}
	}
	if err := decodeAbout(thread, &m, about); err != nil {
		return bad(err)
	}
	if body != "" {
		b, ok := codec.CutWriteSum([]byte(body), thread)
		switch {
		case !ok:
			return bad(errSum)
		case len(b) > 0 && b[0] == 'B':
			m.Payload = b[1:]
		case string(b) != "N":
			return bad(errMalformed)
		}
	}
	return m, nil
}

package checkpoint

import (
	"fmt"
	"strconv"
)

// MaxSchema is the longest description of a schema that a saver accepts, in bytes.
const MaxSchema = 256 << 10

// SchemaWrite returns the Write that describes the schema of a state for tools, which do not have
// its Go types. The description is 1 to MaxSchema opaque bytes. The Write shares its memory.
//
// A version stores the first description for each fingerprint. The description is one of the
// Writes of an Append or PutWrites, usually of the opening of the first run with the fingerprint.
// Only Saver.Schemas returns descriptions: Load and openings do not. A description stays when
// records are pruned. It is exported, imported and removed with its version.
func SchemaWrite(fingerprint uint64, description []byte) Write {
	return Write{Kind: Schema, Task: fmt.Sprintf("%016x", fingerprint), Payload: description}
}

// fingerprint returns the fingerprint that a Write of kind Schema describes.
func (w *Write) fingerprint() (uint64, error) {
	n, err := strconv.ParseUint(w.Task, 16, 64)
	if err == nil && w.Task != fmt.Sprintf("%016x", n) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// Schemas returns the descriptions among writes by fingerprint, or nil if there are none. It
// returns an [*InvalidError] for a description that SchemaWrite did not make.
func Schemas(writes []Write) (map[uint64][]byte, error) {
	var all map[uint64][]byte
	for i := range writes {
		w := &writes[i]
		if w.Kind != Schema {
			continue
		}
		if err := w.Check(); err != nil {
			return nil, err
		}
		if all == nil {
			all = make(map[uint64][]byte)
		}
		fingerprint, err := w.fingerprint()
		if err != nil {
			return nil, err
		}
		all[fingerprint] = w.Payload
	}
	return all, nil
}

// checkSchema reports what is wrong with a Write of kind Schema.
func (w *Write) checkSchema() *InvalidError {
	_, err := w.fingerprint()
	switch {
	case w.Namespace != "" || !w.Base.IsZero() || w.Name != "":
		return &InvalidError{"Kind", "a Schema with a namespace, a base or a name", "none of them, as SchemaWrite makes it"}
	case err != nil:
		return &InvalidError{"Task", quote(w.Task), "a fingerprint in 16 hexadecimal digits, as SchemaWrite makes it"}
	case len(w.Payload) == 0 || len(w.Payload) > MaxSchema:
		return &InvalidError{"Payload", strconv.Itoa(len(w.Payload)) + " bytes", fmt.Sprintf("1 to %d for a Schema", MaxSchema)}
	}
	return nil
}

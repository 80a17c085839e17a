package agent

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON schema of a Go type, for the answer of an agent. SchemaOf makes it.
type Schema struct {
	text     json.RawMessage
	resolved *jsonschema.Resolved
	err      error // of making it; New and Add return it
}

// SchemaOf returns the schema of T, a struct. Names and omitempty of its json tags count, and a
// tag jsonschema describes a field to the model. New and Add report a T without a schema.
func SchemaOf[T any]() *Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return &Schema{err: err}
	}
	return newSchema(s)
}

// newSchema returns a Schema of s.
func newSchema(s *jsonschema.Schema) *Schema {
	text, err := json.Marshal(s)
	if err != nil {
		return &Schema{err: err}
	}
	resolved, err := s.Resolve(nil)
	return &Schema{text: text, resolved: resolved, err: err}
}

// check returns an error if text is not JSON, or does not fit the schema.
func (s *Schema) check(text string) error {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return s.resolved.Validate(value)
}

// Output decodes the answer of an agent whose Config has the Output SchemaOf[T].
func Output[T any](c Chat) (T, error) {
	var v T
	if err := json.Unmarshal([]byte(c.Output), &v); err != nil {
		return v, fmt.Errorf("agent: the chat has no such output: %w; set Config.Output, and run the agent to its end", err)
	}
	return v, nil
}

// problem says why text does not fit the schema, or is empty.
func (s *Schema) problem(text string) string {
	if err := s.check(text); err != nil {
		return err.Error()
	}
	return ""
}

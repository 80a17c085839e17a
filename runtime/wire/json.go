package wire

import (
	"encoding/json"
	"errors"
)

// ErrNotJSON reports that a MarshalJSON method returned text that is not JSON, or that stored text
// is not. Package encoding/json limits how deeply JSON is nested.
var ErrNotJSON = errors.New("text that is not JSON")

// AppendJSON calls marshal, a MarshalJSON method, and appends its result as a string. It returns
// the error of marshal, or [ErrNotJSON].
func AppendJSON(b []byte, marshal func() ([]byte, error)) ([]byte, error) {
	v, err := marshal()
	switch {
	case err != nil:
		return b, err
	case !json.Valid(v):
		return b, ErrNotJSON
	}
	return AppendText(b, func() ([]byte, error) { return v, nil })
}

// JSON reads a string and calls unmarshal, an UnmarshalJSON method, with it. The Reader fails with
// [ErrNotJSON], or with the error that unmarshal returns.
func (r *Reader) JSON(unmarshal func(b []byte) error) {
	at := r.i
	v := r.Str()
	if r.err != nil {
		return
	}
	b := []byte(v)
	if !json.Valid(b) {
		r.Fail(at, ErrNotJSON)
		return
	}
	r.hand(at, b, unmarshal)
}

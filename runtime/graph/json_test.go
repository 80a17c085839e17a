package graph_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// fill sets each field of v, and of the values in it, to a value that is not zero.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 23, 2, 30, 0, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	}
}

func TestResultsSnapshotsAndThreadsAreReadableJSON(t *testing.T) {
	numbers := regexp.MustCompile(`\[\d+,`)
	for _, v := range []any{
		new(result), new(graph.Snapshot[work]), new(checkpoint.Thread), new(checkpoint.Version), new(checkpoint.Record), new(graph.Inbox),
		new(graph.DueRun), new(graph.RunEvent), new(graph.TaskInfo), new(checkpoint.ReadyThread), new(graph.Submitted),
	} {
		full := reflect.New(reflect.TypeOf(v).Elem())
		fill(full.Elem())
		for _, one := range []any{v, full.Interface()} {
			name := fmt.Sprintf("%T", v)
			b, err := json.Marshal(one)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			back := reflect.New(reflect.TypeOf(v).Elem())
			if err := json.Unmarshal(b, back.Interface()); err != nil {
				t.Errorf("%s: %s: %v", name, b, err)
				continue
			}
			if diff := cmp.Diff(one, back.Interface(), cmpopts.IgnoreUnexported(graph.RunEvent{}, graph.TaskInfo{})); diff != "" {
				t.Errorf("%s: read back from %s (-want +got):\n%s", name, b, diff)
			}
			if numbers.Match(b) && name != "*graph.Snapshot[github.com/graphgen-go/graphgen/runtime/graph/internal/teststate.Work]" {
				t.Errorf("%s: a list of numbers: %s", name, b)
			}
		}
	}
}

func TestTextsOfConstantsAreReadBack(t *testing.T) {
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    encoding.TextMarshaler
		want string
	}{
		{checkpoint.ID{}, ""}, {id, id.String()}, {graph.Status(0), ""}, {graph.Waiting, "waiting"}, {graph.Cancelled, "cancelled"},
		{checkpoint.Loop, "loop"}, {checkpoint.Outcome, "outcome"}, {checkpoint.SignalMessage, "signal"}, {checkpoint.High, "high"},
		{checkpoint.ByID, "id"}, {graph.OutcomeSuperseded, "superseded"}, {graph.EventTaskEnded, "task ended"},
		{graph.EventState | graph.EventRunEnded, "state|run ended"},
	} {
		got, err := c.v.MarshalText()
		if err != nil || string(got) != c.want {
			t.Errorf("%T %v: got %q, %v; want %q", c.v, c.v, got, err, c.want)
		}
		back := reflect.New(reflect.TypeOf(c.v))
		reader, ok := back.Interface().(encoding.TextUnmarshaler)
		if !ok {
			t.Errorf("%T cannot be read", c.v)
			continue
		}
		if err := reader.UnmarshalText(got); err != nil || back.Elem().Interface() != any(c.v) {
			t.Errorf("%T: %q was read as %v, %v", c.v, got, back.Elem(), err)
		}
		for _, wrong := range []string{"Waiting", "WAITING", "3", "unknown", " waiting", "none"} {
			if err := reader.UnmarshalText([]byte(wrong)); err == nil {
				t.Errorf("%T: %q was read as %v, want an error", c.v, wrong, back.Elem())
			}
		}
	}
	for _, v := range []encoding.TextMarshaler{graph.Status(99), checkpoint.Source(99), graph.Outcome(99), graph.EventKind(1 << 15), checkpoint.Priority(9)} {
		if b, err := v.MarshalText(); err == nil {
			t.Errorf("%T 99: got %q, want an error", v, b)
		}
	}
}

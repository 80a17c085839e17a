package goldentest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// checkDiff compares a random state with its copy, an edited copy and another random state. It
// applies each diff by reflection and checks that the result is the second state.
func checkDiff[S, U, D any](t *testing.T, schema *state.Schema[S, U], diffOf func(before, after S) D, f *Filler) {
	t.Helper()
	var before, other S
	Fill(f, &before)
	Fill(f, &other)
	edited := DeepCopy(before)
	f.edit(reflect.ValueOf(&edited).Elem())
	for _, after := range []S{DeepCopy(before), edited, other} {
		keep := [2]S{DeepCopy(before), DeepCopy(after)}
		d := diffOf(before, after)
		checkFields(t, schema, before, after, d)
		if text, ok := any(d).(fmt.Stringer); ok {
			if lines := strings.Count(text.String(), "\n"); lines > len(schema.Fields) {
				t.Errorf("%s: a diff of %d fields prints %d line breaks:\n%s", schema.Name, len(schema.Fields), lines, text)
			}
		}
		if !reflect.DeepEqual(before, keep[0]) || !reflect.DeepEqual(after, keep[1]) {
			t.Errorf("%s: comparing has changed a state", schema.Name)
		}
	}
}

// edit changes elements of the lists of a state here and there.
func (f *Filler) edit(s reflect.Value) {
	for i := range s.NumField() {
		v := open(s.Field(i))
		if isPart(s.Type().Field(i)) {
			f.edit(v)
			continue
		}
		if v.Kind() != reflect.Slice || v.Len() == 0 || !Stored(s.Type().Field(i)) {
			continue
		}
		at := f.Rand.IntN(v.Len())
		switch f.Rand.IntN(4) {
		case 0:
			f.fill(v.Index(at), 1)
		case 1:
			v.Set(reflect.AppendSlice(v.Slice(0, at), v.Slice(at+1, v.Len())))
		case 2:
			elem := reflect.New(v.Type().Elem()).Elem()
			f.fill(elem, 1)
			v.Set(reflect.Append(v, elem))
		}
	}
}

// checkFields checks each field of a diff, and that there is one for each field that is stored.
func checkFields[S, U, D any](t *testing.T, schema *state.Schema[S, U], before, after S, d D) {
	t.Helper()
	diff := reflect.New(reflect.TypeFor[D]()).Elem()
	diff.Set(reflect.ValueOf(d))
	was, is := reflect.ValueOf(&before).Elem(), reflect.ValueOf(&after).Elem()
	var changed []string
	n := 0
	for _, field := range schema.Fields {
		change := diff.FieldByName(field.Name)
		if field.Reducer == "untracked" {
			if change.IsValid() {
				t.Errorf("%s: the diff has the untracked field %s", schema.Name, field.Name)
			}
			continue
		}
		n++
		change = open(change)
		was, is := fieldOf(was, field.Name), fieldOf(is, field.Name)
		same := reflect.DeepEqual(was.Interface(), is.Interface())
		if zero := change.Interface().(interface{ IsZero() bool }).IsZero(); zero != same {
			t.Errorf("%s: the change of %s is zero: %v, want %v", schema.Name, field.Name, zero, same)
		}
		if same {
			continue
		}
		changed = append(changed, field.Name)
		if fault := checkChange(change, was, is); fault != "" {
			t.Errorf("%s: %s\nbefore %+v\nafter  %+v\n%s: %s", schema.Name, change.Interface(), was, is, field.Name, fault)
		}
	}
	if diff.NumField() != n {
		t.Errorf("%s: the diff has %d fields, want %d", schema.Name, diff.NumField(), n)
	}
	if all, ok := any(d).(interface{ Changes() []state.FieldChange }); ok {
		if got := state.FieldNames(all.Changes()); !reflect.DeepEqual(got, changed) {
			t.Errorf("%s: Changes has %q, want %q", schema.Name, got, changed)
		}
	}
	if zero, ok := any(d).(interface{ IsZero() bool }); ok && zero.IsZero() != (changed == nil) {
		t.Errorf("%s: IsZero() = %v, but %q differ", schema.Name, zero.IsZero(), changed)
	}
}

// checkChange returns what is wrong with a change of one field.
func checkChange(change, was, is reflect.Value) string {
	before, after := change.FieldByName("Before"), change.FieldByName("After")
	if !sameValue(before, was) || !sameValue(after, is) {
		return "Before and After are not the values of the states"
	}
	switch {
	case change.FieldByName("At").IsValid():
		at, removed, added := int(change.FieldByName("At").Int()), change.FieldByName("Removed"), change.FieldByName("Added")
		got := reflect.AppendSlice(reflect.AppendSlice(before.Slice3(0, at, at), added), before.Slice(at+removed.Len(), before.Len()))
		if !sameElements(got, after) {
			return fmt.Sprintf("the splice leads to %+v", got)
		}
	case change.FieldByName("Moved").IsValid():
		left, right := change.FieldByName("Removed"), change.FieldByName("Added")
		var gone, came []any
		for i := range left.Len() {
			gone = append(gone, left.Index(i).Interface())
		}
		for i := range right.Len() {
			came = append(came, right.Index(i).Interface())
		}
		for i := range change.FieldByName("Changed").Len() {
			both := change.FieldByName("Changed").Index(i)
			gone = append(gone, both.FieldByName("Before").Interface())
			came = append(came, both.FieldByName("After").Interface())
		}
		if rest, kept := without(before, gone), without(after, came); !sameBag(rest, kept) {
			return fmt.Sprintf("what stays is %+v of the one and %+v of the other", rest, kept)
		}
	case before.Kind() == reflect.Map && change.FieldByName("Added").IsValid():
		return checkMap(change, before, after)
	}
	return ""
}

// checkMap applies the change of a map to a copy.
func checkMap(change, before, after reflect.Value) string {
	got := reflect.MakeMap(before.Type())
	for it := before.MapRange(); it.Next(); {
		if !change.FieldByName("Removed").MapIndex(it.Key()).IsValid() {
			got.SetMapIndex(it.Key(), it.Value())
		}
	}
	for it := change.FieldByName("Changed").MapRange(); it.Next(); {
		if !sameValue(before.MapIndex(it.Key()), it.Value().FieldByName("Before")) {
			return fmt.Sprintf("Changed[%v].Before is not what was there", it.Key())
		}
		got.SetMapIndex(it.Key(), it.Value().FieldByName("After"))
	}
	for it := change.FieldByName("Added").MapRange(); it.Next(); {
		if before.MapIndex(it.Key()).IsValid() {
			return fmt.Sprintf("Added has %v, which was there", it.Key())
		}
		got.SetMapIndex(it.Key(), it.Value())
	}
	if got.Len() != after.Len() || after.Len() > 0 && !sameValue(got, after) {
		return fmt.Sprintf("the change leads to %+v", got)
	}
	return ""
}

// sameValue compares values that may be of types of one shape.
func sameValue(a, b reflect.Value) bool {
	return reflect.DeepEqual(a.Interface(), b.Convert(a.Type()).Interface())
}

// sameElements compares lists element by element.
func sameElements(a, b reflect.Value) bool {
	return a.Len() == b.Len() && (a.Len() == 0 || sameValue(a, b))
}

// without returns list without the elements in out, each removed once.
func without(list reflect.Value, out []any) []any {
	var rest []any
	for i := range list.Len() {
		v := list.Index(i).Interface()
		at := indexOf(out, v)
		if at < 0 {
			rest = append(rest, v)
			continue
		}
		out = append(out[:at:at], out[at+1:]...)
	}
	return rest
}

// sameBag reports whether two lists have the same elements in any order.
func sameBag(a, b []any) bool {
	return len(a) == len(b) && len(without(reflect.ValueOf(a), b)) == 0
}

func indexOf(list []any, v any) int {
	for i := range list {
		if reflect.DeepEqual(list[i], v) {
			return i
		}
	}
	return -1
}

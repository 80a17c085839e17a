package checkpoint_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func id(n byte) (id checkpoint.ID) {
	id[15] = n
	return id
}

// valid returns an Append that passes its Check.
func valid() checkpoint.Append {
	return checkpoint.Append{
		Thread: "t", After: id(1), Fence: id(1),
		Records: []checkpoint.Record{
			{ID: id(2), Parent: id(1), Base: id(2), Source: checkpoint.Loop},
			{ID: id(3), Parent: id(2), Base: id(2), Source: checkpoint.Resume, Step: 1},
		},
		Writes: []checkpoint.Write{{Base: id(2), Task: "task", Kind: checkpoint.Discard}},
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	long := strings.Repeat("x", checkpoint.MaxNamespace+1)
	for name, c := range map[string]struct {
		change func(a *checkpoint.Append)
		field  string
	}{
		"valid":                {func(a *checkpoint.Append) {}, ""},
		"an opening":           {func(a *checkpoint.Append) { a.Open, a.Fence = &checkpoint.Opening{}, checkpoint.ID{} }, ""},
		"no thread":            {func(a *checkpoint.Append) { a.Thread = "" }, "thread"},
		"a long thread":        {func(a *checkpoint.Append) { a.Thread = long[:checkpoint.MaxThread+1] }, "thread"},
		"a long namespace":     {func(a *checkpoint.Append) { a.Namespace = long }, "namespace"},
		"no fence":             {func(a *checkpoint.Append) { a.Fence = checkpoint.ID{} }, "fence"},
		"an opening child":     {func(a *checkpoint.Append) { a.Open, a.Namespace = &checkpoint.Opening{}, "c" }, "open"},
		"a long holder":        {func(a *checkpoint.Append) { a.Open = &checkpoint.Opening{Holder: long} }, "open.Holder"},
		"release, not end":     {func(a *checkpoint.Append) { a.Release = true }, "release"},
		"an unknown status":    {func(a *checkpoint.Append) { a.Status = 8 }, "status"},
		"a negative lease":     {func(a *checkpoint.Append) { a.Lease = -1 }, "lease"},
		"no records":           {func(a *checkpoint.Append) { a.Records = nil }, "records"},
		"no id":                {func(a *checkpoint.Append) { a.Records[1].ID = checkpoint.ID{} }, "records[1].ID"},
		"the id of the head":   {func(a *checkpoint.Append) { a.Records[0].ID = id(1) }, "records[0].ID"},
		"an id twice":          {func(a *checkpoint.Append) { a.Records[1].ID = id(2) }, "records[1].ID"},
		"an id below the head": {func(a *checkpoint.Append) { a.After, a.Records[0].Parent = id(5), id(5) }, "records[0].ID"},
		"an id below another":  {func(a *checkpoint.Append) { a.Records[0].ID, a.Records[1].Parent = id(4), id(4) }, "records[1].ID"},
		"no base":              {func(a *checkpoint.Append) { a.Records[0].Base = checkpoint.ID{} }, "records[0].Base"},
		"no source":            {func(a *checkpoint.Append) { a.Records[0].Source = 0 }, "records[0].Source"},
		"a negative step":      {func(a *checkpoint.Append) { a.Records[1].Step = -1 }, "records[1].Step"},
		"a delta on nothing":   {func(a *checkpoint.Append) { a.After, a.Records[0].Parent = checkpoint.ID{}, checkpoint.ID{} }, "records[0].Snapshot"},
		"a delta on another":   {func(a *checkpoint.Append) { a.Records[1].Parent = id(1) }, "records[1].Snapshot"},
		"a snapshot, anywhere": {func(a *checkpoint.Append) { a.Records[1].Parent, a.Records[1].Snapshot = id(1), true }, ""},
		"a write's base":       {func(a *checkpoint.Append) { a.Writes[0].Base = checkpoint.ID{} }, "writes[0].Base"},
		"a write's task":       {func(a *checkpoint.Append) { a.Writes[0].Task = "" }, "writes[0].Task"},
		"a schema":             {func(a *checkpoint.Append) { a.Writes[0] = checkpoint.SchemaWrite(1, []byte{1}) }, ""},
		"a schema of nothing":  {func(a *checkpoint.Append) { a.Writes[0] = checkpoint.SchemaWrite(1, nil) }, "writes[0].Payload"},
		"a long schema": {func(a *checkpoint.Append) {
			a.Writes[0] = checkpoint.SchemaWrite(1, make([]byte, checkpoint.MaxSchema+1))
		}, "writes[0].Payload"},
		"a schema with a base":         {func(a *checkpoint.Append) { a.Writes[0].Kind = checkpoint.Schema }, "writes[0].Kind"},
		"a schema with a namespace":    {func(a *checkpoint.Append) { a.Writes[0] = checkpoint.Write{Kind: checkpoint.Schema, Namespace: "c"} }, "writes[0].Kind"},
		"a schema's wrong fingerprint": {func(a *checkpoint.Append) { a.Writes[0] = checkpoint.Write{Kind: checkpoint.Schema, Task: "1"} }, "writes[0].Task"},
		"a write's long name":          {func(a *checkpoint.Append) { a.Writes[0].Name = long }, "writes[0].Name"},
		"a write's namespace":          {func(a *checkpoint.Append) { a.Writes[0].Namespace = long }, "writes[0].Namespace"},
		"no kind":                      {func(a *checkpoint.Append) { a.Writes[0].Kind = 0 }, "writes[0].Kind"},
		"an unknown kind":              {func(a *checkpoint.Append) { a.Writes[0].Kind = 6 }, "writes[0].Kind"},
	} {
		a := valid()
		c.change(&a)
		err := a.Check()
		var invalid *checkpoint.InvalidError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case c.field != "" && (!errors.As(err, &invalid) || invalid.Field != c.field):
			t.Errorf("%s: got %v, want an *InvalidError about %s", name, err, c.field)
		case c.field != "" && (!strings.HasPrefix(err.Error(), "checkpoint: "+c.field) || len(err.Error()) > 300):
			t.Errorf("%s: got the message %q", name, err)
		}
	}
}

func TestCheckOfOtherCalls(t *testing.T) {
	for name, err := range map[string]error{
		"put without a thread": (&checkpoint.PutWrites{Fence: id(1)}).Check(),
		"put without a fence":  (&checkpoint.PutWrites{Thread: "t"}).Check(),
		"put, unknown status":  (&checkpoint.PutWrites{Thread: "t", Fence: id(1), Status: 9}).Check(),
		"put, empty write":     (&checkpoint.PutWrites{Thread: "t", Fence: id(1), Writes: make([]checkpoint.Write, 1)}).Check(),
		"place, version":       checkpoint.Ref{Thread: "t", Version: -1}.Check(),
		"place, no thread":     checkpoint.Ref{}.Check(),
		"thread":               checkpoint.CheckThread(""),
	} {
		if !errors.As(err, new(*checkpoint.InvalidError)) {
			t.Errorf("%s: got %v, want an *InvalidError", name, err)
		}
	}
	for name, err := range map[string]error{
		"put":   (&checkpoint.PutWrites{Thread: "t", Fence: id(1)}).Check(),
		"place": checkpoint.Ref{Thread: "\x00"}.Check(),
	} {
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		}
	}
}

func TestCheckFindsAnIDThatIsUsedTwice(t *testing.T) {
	for _, n := range []int{2, 16, 17, 100_000} {
		a := valid()
		a.Records = make([]checkpoint.Record, n)
		for i := range a.Records {
			var id checkpoint.ID
			binary.BigEndian.PutUint32(id[:], uint32(i+1))
			a.Records[i] = checkpoint.Record{ID: id, Base: id, Source: checkpoint.Loop, Snapshot: true}
		}
		if err := a.Check(); err != nil {
			t.Errorf("%d records: got %v, want no error", n, err)
		}
		a.Records[n-1].ID = a.Records[0].ID
		want := fmt.Sprintf("records[%d].ID", n-1)
		var invalid *checkpoint.InvalidError
		if err := a.Check(); !errors.As(err, &invalid) || invalid.Field != want {
			t.Errorf("%d records, the last with the id of the first: got %v, want an *InvalidError of %s", n, err, want)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"load it again":           &checkpoint.ConflictError{Thread: "t", Namespace: "n", Reason: "head", Want: id(1)},
		"open a run of your":      &checkpoint.ConflictError{Thread: "t", Reason: "fence"},
		"a new run starts":        &checkpoint.ConflictError{Thread: "t", Reason: "released"},
		"exists already":          &checkpoint.ConflictError{Thread: "t", Reason: "exists", Want: id(1), Found: id(2)},
		"release or delete":       &checkpoint.ConflictError{Thread: "t", Reason: "exists", Found: id(2)},
		"when that run has ended": &checkpoint.BusyError{Thread: "t", Holder: "h"},
		"2026-11-21T10:00:00Z;":   &checkpoint.BusyError{Thread: "t", Until: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)},
	} {
		if !strings.HasPrefix(err.Error(), `checkpoint: thread "t"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to name the thread and say %q", err, want)
		}
		if !errors.Is(fmt.Errorf("wrapped: %w", err), checkpoint.ErrConflict) {
			t.Errorf("%v is no ErrConflict", err)
		}
	}
}

func TestStatusesHaveNames(t *testing.T) {
	var got []string
	for s := range checkpoint.Cancelled + 2 {
		got = append(got, s.String())
	}
	if want := "no status, running, waiting, paused, failed, done, ready, cancelled, unknown status"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestIDs(t *testing.T) {
	seen := make(map[checkpoint.ID]bool)
	for range 1000 {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := checkpoint.ParseID(id.String()); err != nil || back != id || id.IsZero() || seen[id] {
			t.Fatalf("id %s: parsed as %s, %v; seen before: %t", id, back, err, seen[id])
		}
		seen[id] = true
	}
	for _, bad := range []string{"", "none", "0198c0de", strings.Repeat("0", 32), "{0198c0de-0000-7000-8000-000000000000}"} {
		if _, err := checkpoint.ParseID(bad); err == nil {
			t.Errorf("parse %q: got no error", bad)
		}
	}
}

func TestOpenQuestionsAreThoseWithoutAnAnswer(t *testing.T) {
	write := func(base byte, task, name string, kind checkpoint.Kind) checkpoint.Write {
		return checkpoint.Write{Base: id(base), Task: task, Name: name, Kind: kind}
	}
	open := checkpoint.OpenQuestions([]checkpoint.Write{
		write(1, "a", "", checkpoint.Question), write(1, "a", "n", checkpoint.Question), write(1, "b", "", checkpoint.Question),
		write(2, "a", "", checkpoint.Question), write(1, "a", "", checkpoint.Answer), write(1, "c", "", checkpoint.Result),
	})
	var got []string
	for _, w := range open {
		got = append(got, fmt.Sprintf("%d%s%s", w.Base[15], w.Task, w.Name))
	}
	if want := "1an 1b 2a"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAQueryOfThreadsNeedsItsWholePlace(t *testing.T) {
	at := time.Unix(1, 0)
	for name, c := range map[string]struct {
		q     checkpoint.ThreadQuery
		field string
	}{
		"all":                    {checkpoint.ThreadQuery{}, ""},
		"by id, after":           {checkpoint.ThreadQuery{After: "a"}, ""},
		"by id, with a time":     {checkpoint.ThreadQuery{AfterCreated: at}, ""},
		"newest first":           {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst}, ""},
		"newest first, after":    {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, After: "a", AfterCreated: at}, ""},
		"newest first, no time":  {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, After: "a"}, "afterCreated"},
		"newest first, no after": {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, AfterCreated: at}, "after"},
		"an unknown order":       {checkpoint.ThreadQuery{Order: checkpoint.NewestFirst + 1}, "order"},
	} {
		err := c.q.Check()
		var invalid *checkpoint.InvalidError
		if errors.As(err, &invalid); invalid == nil && c.field != "" || invalid != nil && invalid.Field != c.field {
			t.Errorf("%s: got %v, want a fault of %q", name, err, c.field)
		}
	}
}

package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func newID(t *testing.T) checkpoint.ID {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIDsAreUUIDsOfVersion7(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	for range 1000 {
		id := uuid.UUID(newID(t))
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %s; want 7 and RFC 4122", id, id.Version(), id.Variant())
		}
		if at := time.Unix(id.Time().UnixTime()); at.Before(before) || at.After(time.Now().Add(time.Second)) {
			t.Fatalf("%s says that it was made at %v; want between %v and now", id, at, before)
		}
	}
}

func TestAnIDSaysWhenItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 3000 {
			id := newID(t)
			if want := time.Now().UTC().Truncate(time.Microsecond); !id.Time().Equal(want) || id.Time().Location() != time.UTC {
				t.Fatalf("%s: got %v, want %v", id, id.Time(), want)
			}
			time.Sleep(1777 * time.Nanosecond)
		}
	})
}

func TestIDsIncrease(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			before := newID(t)
			for range 5000 {
				id := newID(t)
				if bytes.Compare(id[:], before[:]) <= 0 {
					t.Errorf("%s was made after %s; want it to be greater", id, before)
					return
				}
				before = id
			}
		})
	}
	wg.Wait()
}

func TestAnIDAfterOneOfAClockThatIsAhead(t *testing.T) {
	var before checkpoint.ID
	ahead := uint64(time.Now().Add(time.Hour).UnixMilli())
	for name, high := range map[string]uint64{"a UUID of version 7": ahead<<16 | 7<<12 | 0xfff, "other bytes": ahead<<16 | 0xffff} {
		binary.BigEndian.PutUint64(before[:], high)
		copy(before[8:], bytes.Repeat([]byte{0xff}, 8))
		for range 100 {
			id, err := checkpoint.NewIDAfter(before)
			if err != nil || bytes.Compare(id[:], before[:]) <= 0 || uuid.UUID(id).Version() != 7 {
				t.Fatalf("%s: after %s: got %s, %v; want a greater UUID of version 7", name, before, id, err)
			}
			before = id
		}
	}
	if id := newID(t); id.Time().After(time.Now().Add(time.Minute)) {
		t.Errorf("a new id has the time %v, want that of this machine", id.Time())
	}
	last := checkpoint.ID(bytes.Repeat([]byte{0xff}, 16))
	if id, err := checkpoint.NewIDAfter(last); !errors.As(err, new(*checkpoint.InvalidError)) {
		t.Errorf("after %s: got %s, %v; want an *InvalidError", last, id, err)
	}
}

// TestIDsAreUsedOnce also holds the random part to that: ids are made in one instant in several
// processes.
func TestIDsAreUsedOnce(t *testing.T) {
	const each = 5000
	made := make([][each]checkpoint.ID, 8)
	var wg sync.WaitGroup
	for i := range made {
		wg.Go(func() {
			for k := range made[i] {
				made[i][k] = newID(t)
			}
		})
	}
	wg.Wait()
	ids, random := make(map[checkpoint.ID]bool), make(map[[8]byte]bool)
	for i := range made {
		for _, id := range made[i] {
			ids[id], random[[8]byte(id[8:])] = true, true
		}
	}
	if want := len(made) * each; len(ids) != want || len(random) != want {
		t.Errorf("%d ids: %d are different, with %d different random parts", want, len(ids), len(random))
	}
}

func TestNewIDAllocatesNothing(t *testing.T) {
	if got := testing.AllocsPerRun(1000, func() { newID(t) }); got >= 1 {
		t.Errorf("an id takes %v allocations, want less than one", got)
	}
}

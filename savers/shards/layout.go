package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Place is a name of the layout and its weight.
type Place struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
}

// The greatest values of a Shard.
const (
	maxName   = 100 // bytes
	maxWeight = 100
)

// Drained is the weight of a shard that the layout does not have, or that a change of the layout
// empties. It can be left out of the list once the change is done.
const Drained = -1

// layoutOf returns the layout of shards, by name. It sets the defaults of shards.
func layoutOf(shards []Shard) ([]Place, error) {
	var places []Place
	for i := range shards {
		sh := &shards[i]
		bad := func(field, found, want string) error {
			return &checkpoint.InvalidError{Field: fmt.Sprintf("shards[%d].%s", i, field), Found: found, Want: want}
		}
		sh.Weight = cmp.Or(sh.Weight, 1)
		double := slices.ContainsFunc(shards[:i], func(other Shard) bool { return other.Name == sh.Name })
		switch {
		case sh.Name == "" || len(sh.Name) > maxName:
			return nil, bad("Name", fmt.Sprintf("%.64q, %d bytes", sh.Name, len(sh.Name)), fmt.Sprintf("1 to %d bytes", maxName))
		case double:
			return nil, bad("Name", fmt.Sprintf("%q a second time", sh.Name), "a name of its own")
		case sh.Weight != Drained && (sh.Weight < 1 || sh.Weight > maxWeight):
			return nil, bad("Weight", fmt.Sprint(sh.Weight), fmt.Sprintf("1 to %d, 0 for 1, or Drained", maxWeight))
		case sh.Open == nil:
			return nil, bad("Open", "nil", "a function that opens the saver")
		}
		if sh.Weight != Drained {
			places = append(places, Place{sh.Name, sh.Weight})
		}
	}
	if len(places) == 0 {
		return nil, &checkpoint.InvalidError{Field: "shards", Found: "none", Want: "at least one that is not Drained"}
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Name, b.Name) })
	return places, nil
}

// A layout is stored as messages of this thread, which has no version and no inputs. So no list
// has it, and it is never due. Each change of the layout adds messages, and the newest layout
// counts. The id of a message names the layout that it follows. So of two layouts that processes
// post at the same time, one is stored.
const (
	layoutThread  = "__shards"
	layoutMessage = "layout"
)

// stored is the payload of a message.
type stored struct {
	Name   string  `json:"name"` // of this shard
	Shards []Place `json:"shards"`
	To     []Place `json:"to,omitempty"` // replaces Shards; nil if no change is in progress
	Phase  Phase   `json:"phase,omitempty"`
	Change int     `json:"change,omitempty"` // counts the changes
	number uint64  // of the message
}

// before reports whether m is newer than l.
func (l *stored) before(m *stored) bool {
	return cmp.Or(cmp.Compare(l.Change, m.Change), cmp.Compare(l.Phase, m.Phase)) < 0
}

// next returns the id of the message with the layout that follows l, which is nil for the first.
func (l *stored) next() string {
	if l == nil {
		return layoutMessage
	}
	return fmt.Sprintf("%s-%d-%d", layoutMessage, l.Change, l.Phase)
}

// refresh reads the layout that the saver of the shard stores. The caller must have the turn.
func (sh *shard) refresh(ctx context.Context, s checkpoint.Saver) error {
	began, number := time.Now(), uint64(0)
	if l := sh.stored.Load(); l != nil {
		number = l.number
	}
	mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: layoutThread, After: number})
	if err != nil {
		return err
	}
	for _, m := range mail {
		found := &stored{number: m.Number}
		if err := json.Unmarshal(m.Payload, found); err != nil {
			return fmt.Errorf("the layout: %w: %w", checkpoint.ErrDamaged, err)
		}
		if l := sh.stored.Load(); l == nil || l.before(found) {
			sh.stored.Store(found)
		}
	}
	stale := began.Add(fresh)
	sh.stale.Store(&stale)
	if l := sh.stored.Load(); l != nil && sh.adopt != nil {
		sh.adopt(l)
	}
	return nil
}

// store stores a layout in the saver of the shard, unless it stores the same, or a later phase of
// the same change. It returns ErrChanging if another change has begun. If after is not nil, l must
// follow it. The caller must have the turn.
func (sh *shard) store(ctx context.Context, s checkpoint.Saver, l, after *stored) error {
	payload, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("the layout: %w", err)
	}
	for {
		found := sh.stored.Load()
		switch {
		case found == nil:
		case found.Change > l.Change:
			return ErrChanging
		case !found.before(l):
			if l.before(found) || slices.Equal(found.Shards, l.Shards) && slices.Equal(found.To, l.To) {
				return nil
			}
			return sh.other(found, nil)
		case after != nil && after.before(found):
			return ErrChanging
		}
		posted, err := s.Post(ctx, checkpoint.Post{Thread: layoutThread, MaxOthers: math.MaxInt32, Messages: []checkpoint.Message{
			{ID: found.next(), Kind: checkpoint.SignalMessage, Name: layoutMessage, Payload: payload},
		}})
		if err == nil {
			err = posted[0].Err
		}
		if err == nil {
			err = sh.refresh(ctx, s) // another process may have been faster
		}
		if err != nil {
			return err
		}
		if now := sh.stored.Load(); now == found {
			return fmt.Errorf("the layout: %w: it was stored and is gone", checkpoint.ErrDamaged)
		}
	}
}

// ErrChanging is the error of Announce and Rebalance if another process has begun another change
// of the layout. Announce also returns it if threads move already.
var ErrChanging = errors.New("another change of the layout is in progress")

// agree compares the layout that the saver of the shard stores with the list that was given. It
// stores that list in a saver that is empty. The caller must have the turn.
func (sh *shard) agree(ctx context.Context, s checkpoint.Saver) error {
	if err := sh.refresh(ctx, s); err != nil {
		return err
	}
	found := sh.stored.Load()
	if found == nil && len(sh.layout) > 0 && sh.Weight != Drained {
		if err := empty(ctx, s); err != nil {
			return sh.other(nil, err)
		}
		if err := sh.store(ctx, s, &stored{Name: sh.Name, Shards: sh.layout}, nil); err != nil {
			return err
		}
		found = sh.stored.Load()
	}
	if found == nil || found.Name == sh.Name && sh.fits(found) {
		return nil
	}
	return sh.other(found, nil)
}

// fits reports whether a process with the given list of shards can use a layout.
func (sh *shard) fits(l *stored) bool {
	given := func(p Place) bool { return slices.Contains(sh.names, p.Name) }
	lacks := func(p Place) bool { return !given(p) }
	switch {
	case len(sh.layout) == 0, slices.Equal(l.Shards, sh.layout) && l.Phase != Moving && l.Phase != Moved && l.Phase != Sweeping:
		return true
	case l.To == nil: // a shard that was drained before has an old layout
		return sh.Weight == Drained
	}
	return !slices.ContainsFunc(l.Shards, lacks) && !slices.ContainsFunc(l.To, lacks)
}

// errUsed is what is wrong with a saver that has threads and no layout.
var errUsed = errors.New("it has threads, and no layout: it was used without package shards")

// empty returns errUsed if a saver has a thread.
func empty(ctx context.Context, s checkpoint.Saver) error {
	for _, q := range []checkpoint.ThreadQuery{{Limit: 1, Released: true}, {Limit: 1, Prefix: checkpoint.TaskPrefix}} {
		for _, err := range s.Threads(ctx, q) {
			if err == nil || errors.Is(err, checkpoint.ErrDamaged) {
				return errUsed
			}
			return err
		}
	}
	return nil
}

// other returns the error of a saver that is not this shard of the layout that was given.
func (sh *shard) other(found *stored, err error) error {
	if err != nil && !errors.Is(err, errUsed) {
		return err
	}
	e := &LayoutError{Shard: sh.Name, Given: sh.layout}
	if found != nil {
		e.Stored, e.To, e.StoredName = found.Shards, found.To, found.Name
	}
	return e
}

// LayoutError reports a storage that is not the shard that it was given as. It stores another
// layout, is another shard, or has threads and no layout. Nothing was stored.
type LayoutError struct {
	Shard      string  // the given name
	Given      []Place // by name
	Stored     []Place // by name; nil if the storage has threads and no layout
	To         []Place // by name: the layout that replaces Stored; nil if none does
	StoredName string  // the name of the shard that the storage is
}

func (e *LayoutError) Error() string {
	what := fmt.Sprintf("shards: the storage of shard %q", e.Shard)
	switch {
	case e.Stored == nil:
		return what + " " + strings.TrimPrefix(errUsed.Error(), "it ") + "; begin with empty storages, and import the threads by checkpoint.Copy"
	case e.StoredName != e.Shard:
		return fmt.Sprintf("%s is that of shard %q; give each shard its own storage", what, e.StoredName)
	}
	if e.To != nil {
		return fmt.Sprintf("%s has the layout %s, which changes to %s; open it with a list of all these shards, not %s", what, list(e.Stored), list(e.To), list(e.Given))
	}
	return fmt.Sprintf("%s has the layout %s, not %s; open it with that list of shards, or change the layout by Announce", what, list(e.Stored), list(e.Given))
}

// list returns the names and weights of a layout as text.
func list(places []Place) string {
	var all []string
	for _, p := range places {
		all = append(all, fmt.Sprintf("%s (%d)", p.Name, p.Weight))
	}
	return strings.Join(all, ", ")
}

// seeds returns the numbers that stand for a shard: one for each unit of its weight. They decide
// where threads are, so they never change.
func seeds(name string, weight int) []uint64 {
	sum := sha256.Sum256([]byte(name))
	first := binary.BigEndian.Uint64(sum[:])
	all := make([]uint64, weight)
	for i := range all {
		all[i] = mix(first + uint64(i))
	}
	return all
}

// mix returns a number each of whose bits depends on all bits of x: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// layoutOf returns the layout of shards, by name. It sets the defaults of shards.
func layoutOf(shards []Shard) ([]Place, error) {
	var places []Place
	for i := range shards {
		sh := &shards[i]
		bad := func(field, found, want string) error {
			return &checkpoint.InvalidError{Field: fmt.Sprintf("shards[%d].%s", i, field), Found: found, Want: want}
		}
		sh.Weight = cmp.Or(sh.Weight, 1)
		switch {
		case sh.Name == "" || len(sh.Name) > maxName:
			return nil, bad("Name", fmt.Sprintf("%.64q, %d bytes", sh.Name, len(sh.Name)), fmt.Sprintf("1 to %d bytes", maxName))
		case slices.ContainsFunc(places, func(p Place) bool { return p.Name == sh.Name }):
			return nil, bad("Name", fmt.Sprintf("%q a second time", sh.Name), "a name of its own")
		case sh.Weight < 1 || sh.Weight > maxWeight:
			return nil, bad("Weight", fmt.Sprint(sh.Weight), fmt.Sprintf("1 to %d, or 0 for 1", maxWeight))
		case sh.Open == nil:
			return nil, bad("Open", "nil", "a function that opens the saver")
		}
		places = append(places, Place{sh.Name, sh.Weight})
	}
	if len(places) == 0 {
		return nil, &checkpoint.InvalidError{Field: "shards", Found: "none", Want: "at least one"}
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Name, b.Name) })
	return places, nil
}

// A layout is stored as a message of this thread, which has no version and no inputs. So no list
// has it, and it is never due. Two layouts that are posted at the same time have the same id of a
// message, so one is stored.
const (
	layoutThread  = "__shards"
	layoutMessage = "layout"
)

// stored is the payload of the message.
type stored struct {
	Name   string  `json:"name"` // of this shard
	Shards []Place `json:"shards"`
}

// agree compares the layout that the saver of the shard stores with the one that was given. It
// stores the given one in a saver that is empty.
func (sh *shard) agree(ctx context.Context, s checkpoint.Saver) error {
	q := checkpoint.MailQuery{Thread: layoutThread, ID: layoutMessage}
	mail, err := s.Mail(ctx, q)
	if err != nil {
		return err
	}
	if len(mail) == 0 {
		if err := empty(ctx, s); err != nil {
			return sh.other(nil, "", err)
		}
		payload, err := json.Marshal(stored{sh.Name, sh.layout})
		if err != nil {
			return fmt.Errorf("the layout: %w", err)
		}
		posted, err := s.Post(ctx, checkpoint.Post{Thread: layoutThread, Messages: []checkpoint.Message{
			{ID: layoutMessage, Kind: checkpoint.SignalMessage, Name: layoutMessage, Payload: payload},
		}})
		if err == nil {
			err = posted[0].Err
		}
		if err == nil {
			mail, err = s.Mail(ctx, q) // another process may have been faster
		}
		if err != nil {
			return err
		}
	}
	var found stored
	if len(mail) == 0 {
		return fmt.Errorf("the layout: %w: it was stored and is gone", checkpoint.ErrDamaged)
	}
	if err := json.Unmarshal(mail[0].Payload, &found); err != nil {
		return fmt.Errorf("the layout: %w: %w", checkpoint.ErrDamaged, err)
	}
	if found.Name != sh.Name || !slices.Equal(found.Shards, sh.layout) {
		return sh.other(found.Shards, found.Name, nil)
	}
	return nil
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
func (sh *shard) other(found []Place, name string, err error) error {
	if err != nil && !errors.Is(err, errUsed) {
		return err
	}
	return &LayoutError{Shard: sh.Name, Stored: found, StoredName: name, Given: sh.layout}
}

// LayoutError reports a storage that is not the shard that it was given as. It stores another
// layout, is another shard, or has threads and no layout. Nothing was stored.
type LayoutError struct {
	Shard      string  // the given name
	Given      []Place // by name
	Stored     []Place // by name; nil if the storage has threads and no layout
	StoredName string  // the name of the shard that the storage is
}

func (e *LayoutError) Error() string {
	what := fmt.Sprintf("shards: the storage of shard %q", e.Shard)
	switch {
	case e.Stored == nil:
		return what + " " + strings.TrimPrefix(errUsed.Error(), "it ") + "; begin with empty storages, and import the threads by checkpoint.Copy"
	case slices.Equal(e.Stored, e.Given):
		return fmt.Sprintf("%s is that of shard %q; give each shard its own storage", what, e.StoredName)
	}
	return fmt.Sprintf("%s has the layout %s, not %s; open it with that list of shards, which cannot change", what, list(e.Stored), list(e.Given))
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

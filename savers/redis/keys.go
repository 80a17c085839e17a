package redis

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// key returns the key of a thread. Its tag, which decides the slot, is a hash, because an id may
// have any length and any bytes. Braces in an id could otherwise choose the slot.
func (s *Saver) key(thread string) string {
	sum := sha256.Sum256([]byte(thread))
	return s.prefix + "{" + base64.RawURLEncoding.EncodeToString(sum[:]) + "}"
}

// indexKeys returns the keys of the index: all threads, those that are not done, the stamps, the
// creation times, the unplaced threads, and further sets.
func (s *Saver) indexKeys(sets ...string) []string {
	tag := s.prefix + "{index}:"
	return append([]string{tag + "all", tag + "live", tag + "stamps", tag + "created", tag + "unplaced"}, sets...)
}

// Places in indexKeys.
const (
	keyAll = iota
	keyLive
	keyStamps
	keyCreated
	keyUnplaced
)

// graphSet returns the key of the set of a graph's threads, and labelSet that of the threads with
// a label.
func (s *Saver) graphSet(graph string) string { return s.prefix + "{index}:graph:" + graph }

func (s *Saver) labelSet(name, value string) string {
	return s.prefix + "{index}:label:" + strconv.Itoa(len(name)) + ":" + name + value
}

// queue returns the name of the wakes of a graph's threads with a priority, as common.lua does.
func queue(p checkpoint.Priority, graph string) string {
	return strconv.Itoa(int(p.Or(checkpoint.Normal))) + ":" + graph
}

// wakes returns the key of the wakes in a queue.
func (s *Saver) wakes(queue string) string { return s.prefix + "{index}:wake:" + queue }

// held returns the key of the wakes that calls of Ready have moved for a moment, with a score for
// when they were.
func (s *Saver) held(graph string) string { return s.prefix + "{index}:held:" + graph }

// allWakes returns the keys of the wakes of a graph's threads, by priority.
func (s *Saver) allWakes(graph string) []string {
	keys := make([]string, checkpoint.Priorities)
	for i := range keys {
		keys[i] = s.wakes(queue(checkpoint.Priority(i+1), graph))
	}
	return keys
}

// setsOf returns the sets that have a thread with this graph and these labels.
func (s *Saver) setsOf(graph string, labels map[string]string) []string {
	sets := make([]string, 0, 1+len(labels))
	if graph != "" {
		sets = append(sets, s.graphSet(graph))
	}
	for name, value := range labels {
		if value != "" {
			sets = append(sets, s.labelSet(name, value))
		}
	}
	return sets
}

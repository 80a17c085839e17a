package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// This file, calls.go, mail.go, questions.go, signals.go and stops.go are everything that the
// runtime stores under a name or in a form of its own. They are a format: changing it makes stored
// threads unreadable.
//
//	task key        hex of 16 bytes of SHA-256 of: run line, scope, step, node, index. Strings follow
//	                their length, numbers are uvarints.
//	call name       task key "-" hex of 8 bytes of SHA-256 of: base, and the id of the resume record if
//	                Rerun began the call again
//	namespace       the names of the calls that lead to it, from outside in, joined by "/"
//	scope           likewise, the keys of their tasks
//
//	Meta of a record
//	  "memory:" node  namespace of the last call of a node with Stateful
//	  "again:" key    id of the resume record whose Rerun began the call of a due task again
//	  "next"          of the last record of a call: what its Parent does next, as targets
//	  "schemas"       of a graph with subgraphs over other states: 8 bytes, which change if one of the schemas
//	                  gets another fingerprint
//	  "format"        of a record at which subgraph calls are due: the number of this format
//	  "stops"         of a record at which a run stopped for people: the stops
//	  "mark"          of a record that begins a run line: the number of the newest message before it, in
//	                  decimals; none for 0
//	  "input"         of an input with a request id: 16 bytes of SHA-256 of the encoded input
//	  "dropped"       of an input that took the place of due tasks: array of those that had not finished, for
//	                  each an array of two: its node, and its index
//	  "released"      of the record that a release stores with the results of finished tasks: empty
//	  "user:" key     what the caller of the run noted under key
//
//	Pending writes of a task, by kind and name
//	  Result ""       the update; of a subgraph over the same state, updates; of a node that routes, a
//	                  choice of either
//	  Result step     of a subgraph over the same state: the updates of that step of it
//	  Result "edit " step  likewise, the updates of edits since that step, with a record of the same step
//	  Result record   of the task "edit" in a call: the update of an edit of the call, which that record of
//	                  the thread made. Of the task "edit above": that of an edit of a graph around the call
//	  Result "do:" name, with "#" and an ordinal from the second call on: of a durable call, a call
//	  Result "named:" name  of a call of DoNamed: likewise. Both have "fallback:" before them in a Fallback
//	  Result "kept:" number  the update that a failed attempt returned, from 1 in the order of attempts
//	  Result "label:" name  a label that the task sets when its superstep commits: the value
//	  Result "reply:" number  the reply to the message of that number: as a signal, with the reply as the payload
//	  Question place, Answer place
//	  Question "/retry#" number  a timer: the attempt of that number begins when it has passed
//	  Question "/sleep"  with "#" and an ordinal from the second call on: a timer. Its answer is the bytes
//	                  c1 74, and so is that of a question that has expired
//	  Question ""     of the task "stop" in a call: the stops that hold the call. Its answer clears them
//	  Failure ""      the text of the error
//	  Failure "attempt#" number  a failed attempt, the number of which is its ordinal modulo 20
//	  Failure "summary"  the summary of a task that failed, if it has one
//	  Failure "progress"  the newest note of Progress of a task, which need not have failed
//	  Failure ""      of the task "run": why the run ended though tasks are due
//
//	updates         array of binaries, each an encoded update
//	choice          array: the update as binary, then what the array of targets has
//	targets         array, for each an array of two: its node, and what is sent to it as binary or nil
//	call            array of two: the number of the call among those of the attempt that have an order, or 0;
//	                its result as binary
//	signal          array of six: the number of the message, its id, the name and the key of the signal, when
//	                it was posted, and its payload as binary
//	note            array of eight: the namespace and the key of the task, then what a signal has
//	stops           array, for each an array of three: the path to it; the node; whether the stop is after it
//	question        array of five: the path to the asking node; that node; its index; the name of the
//	                question; what it asks as binary. A sixth is the summary of the task, and a seventh the due
//	                time of a timer or of a question that expires. Both are left out without a due time, if the
//	                summary is empty. If its branch was left, array of one: such an array
//	attempt         array of six: its ordinal among the failed attempts of the task, from 1; its number, from 1,
//	                or 0 if only merging or a route failed; when it failed; who held the thread; the text of the
//	                error; the stack of a panic. The texts are cut
//	path            array of the subgraph calls that lead to a node, for each an array of two: the node of
//	                the task that makes the call, and its index

// StopTask is the task that the question of a call's stop is of. A task key is longer.
const StopTask = "stop"

// The tasks of the updates of edits in a call.
const (
	EditTask  = "edit"       // of an edit of the call
	AboveTask = "edit above" // of an edit of a graph around the call
)

// RunTask is the task that the failure of a run is of.
const RunTask = "run"

// Names in a record's Meta.
const (
	metaMemory = "memory:"
	metaAgain  = "again:"
	metaNext   = "next"
	metaInput  = "input"
	metaSchema = "schemas"
	metaFormat = "format"
	metaStops  = "stops"
	metaUser   = "user:"
	metaMark   = "mark"
	metaDrop   = "dropped"
	metaClosed = "released"
)

// format is the number of what this file describes. A record at which no subgraph call is due has
// none: what is stored with it did not change. Format 1 was without a number.
const format = 3

// SetFormat notes in a record in which format the subgraph calls are stored that are due at it.
func SetFormat(meta map[string]string) { meta[metaFormat] = strconv.Itoa(format) }

// HasFormat reports whether SetFormat noted a format.
func HasFormat(meta map[string]string) bool { return meta[metaFormat] != "" }

// CheckFormat returns an error if the subgraph calls that are due at a record are stored in
// another format.
func CheckFormat(meta map[string]string) error {
	stored := cmp.Or(meta[metaFormat], "1")
	if stored == strconv.Itoa(format) {
		return nil
	}
	return fmt.Errorf("the subgraph calls that are due are stored in format %s, and this program reads format %d", stored, format)
}

// TaskKey returns the name of a task: what stays the same however often it is tried.
func TaskKey(line checkpoint.ID, scope string, step int, node string, index int) string {
	b := make([]byte, 0, 128)
	b = append(b, line[:]...)
	b = binary.AppendUvarint(b, uint64(len(scope)))
	b = append(b, scope...)
	b = binary.AppendUvarint(b, uint64(step))
	b = binary.AppendUvarint(b, uint64(len(node)))
	b = append(b, node...)
	b = binary.AppendUvarint(b, uint64(index))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// DueKey returns the key of a task that is due at rec, in a namespace.
func DueKey(rec *checkpoint.Record, namespace string, t checkpoint.Task) string {
	return TaskKey(rec.Line, Scope(namespace), rec.Step+1, t.Node, int(t.Index))
}

// CallName returns the name of the subgraph call that a task makes. base is the record that made
// the task due; again, if not zero, the resume record whose Rerun began the call again.
func CallName(key string, base, again checkpoint.ID) string {
	b := make([]byte, 0, 32)
	b = append(b, base[:]...)
	if !again.IsZero() {
		b = append(b, again[:]...)
	}
	sum := sha256.Sum256(b)
	return key + "-" + hex.EncodeToString(sum[:8])
}

// DueCall returns the name of the subgraph call of a task that is due at rec, in a namespace.
func DueCall(rec *checkpoint.Record, namespace string, t checkpoint.Task) string {
	key := DueKey(rec, namespace, t)
	return CallName(key, rec.Base, Again(rec.Meta, key))
}

// Within returns the namespace of a call in another namespace.
func Within(namespace, call string) string {
	if namespace == "" {
		return call
	}
	return namespace + "/" + call
}

// CallIn returns the name of the call in namespace that has the namespace inner, or that inner is
// within. It returns "" if there is none.
func CallIn(namespace, inner string) string {
	below, ok := strings.CutPrefix(inner, namespace)
	if ok && namespace != "" {
		below, ok = strings.CutPrefix(below, "/")
	}
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return name
}

// Scope returns the scope of the tasks in a namespace. It does not depend on bases. A crash can
// lose the record that made a call due. Then the call begins again, and its tasks have the same
// keys.
func Scope(namespace string) string {
	if namespace == "" {
		return ""
	}
	var keys []string
	for name := range strings.SplitSeq(namespace, "/") {
		key, _, _ := strings.Cut(name, "-")
		keys = append(keys, key)
	}
	return strings.Join(keys, "/")
}

// SetMemory makes namespace that of the last call of a node with Stateful.
func SetMemory(meta map[string]string, node, namespace string) { meta[metaMemory+node] = namespace }

// Memory returns the namespaces of remembered calls, by node.
func Memory(meta map[string]string) map[string]string { return named(meta, metaMemory) }

// SetAgain notes that a resume record began the call of a due task again.
func SetAgain(meta map[string]string, key string, resume checkpoint.ID) {
	meta[metaAgain+key] = string(resume[:])
}

// Again returns the resume record that began the call of a due task again; zero for none.
func Again(meta map[string]string, key string) (resume checkpoint.ID) {
	copy(resume[:], meta[metaAgain+key])
	return resume
}

// AllAgain returns the resume records that began calls again, by the keys of their tasks.
func AllAgain(meta map[string]string) map[string]checkpoint.ID {
	var all map[string]checkpoint.ID
	for key := range named(meta, metaAgain) {
		if all == nil {
			all = make(map[string]checkpoint.ID)
		}
		all[key] = Again(meta, key)
	}
	return all
}

// named returns the values whose names begin with a prefix, by what follows it.
func named(meta map[string]string, prefix string) map[string]string {
	var all map[string]string
	for name, value := range meta {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if all == nil {
				all = make(map[string]string)
			}
			all[rest] = value
		}
	}
	return all
}

// SetNext stores what a call that has ended has its Parent do.
func SetNext(meta map[string]string, targets []byte) { meta[metaNext] = string(targets) }

// Next returns what SetNext stored; nil for nothing.
func Next(meta map[string]string) []byte {
	if next, ok := meta[metaNext]; ok {
		return []byte(next)
	}
	return nil
}

// SetSchemas stores a hash of the fingerprints of all schemas of a graph.
func SetSchemas(meta map[string]string, hash uint64) {
	meta[metaSchema] = string(binary.BigEndian.AppendUint64(nil, hash))
}

// Schemas returns what SetSchemas stored; 0 for nothing.
func Schemas(meta map[string]string) uint64 {
	if stored := meta[metaSchema]; len(stored) == 8 {
		return binary.BigEndian.Uint64([]byte(stored))
	}
	return 0
}

// SetInput stores the hash of an encoded input.
func SetInput(meta map[string]string, input []byte) {
	sum := sha256.Sum256(input)
	meta[metaInput] = string(sum[:16])
}

// SameInput reports whether an encoded input has the stored hash. known is false if none is
// stored.
func SameInput(meta map[string]string, input []byte) (same, known bool) {
	stored, known := meta[metaInput]
	sum := sha256.Sum256(input)
	return stored == string(sum[:16]), known
}

// SetMetadata stores what the caller of the run noted under key.
func SetMetadata(meta map[string]string, key, value string) { meta[metaUser+key] = value }

// Metadata returns what the caller of the run noted, by key; nil for nothing.
func Metadata(meta map[string]string) map[string]string { return named(meta, metaUser) }

// StepName is the name of the part of a result that has the updates of one step of a subgraph.
func StepName(step int) string { return strconv.Itoa(step) }

// EditName is the name of the part of a result that has the updates of edits after the record of
// a step.
func EditName(step int) string { return "edit " + strconv.Itoa(step) }

// KeptName is the name of the result that is the n-th update of a failed attempt, from 1.
func KeptName(n int) string { return keptPrefix + strconv.Itoa(n) }

const keptPrefix = "kept:"

// AppendUpdates appends encoded updates.
func AppendUpdates(b []byte, n int, update func(i int, b []byte) ([]byte, error)) (_ []byte, err error) {
	b = wire.AppendArrayLen(b, n)
	var one []byte
	for i := range n {
		if one, err = update(i, one[:0]); err != nil {
			return nil, err
		}
		b = wire.AppendBytes(b, one)
	}
	return b, nil
}

// ReadUpdates calls each with the updates that AppendUpdates wrote, in order.
func ReadUpdates(b []byte, each func(update []byte) error) error {
	in := wire.NewReader("changes", b)
	for range in.ArrayLen() {
		one := in.Bytes()
		if !in.OK() {
			break
		}
		if err := each(one); err != nil {
			return err
		}
	}
	err := in.End()
	in.Framed()
	return err
}

// Target is one thing to do next: a node, and what is sent to it.
type Target struct {
	Node string
	Sent []byte // nil for nothing
}

// ResultUpdates returns the updates in the stored result of a task of any kind. They are the
// update alone, the list that AppendUpdates wrote, or the update before the choice of
// AppendChoice.
func ResultUpdates(b []byte) (updates [][]byte, err error) {
	in := wire.NewReader("result", b)
	if wire.IsMap(in.Peek()) {
		return [][]byte{b}, nil
	}
	for range in.ArrayLen() {
		if wire.IsArray(in.Peek()) {
			in.Skip() // a target
		} else {
			updates = append(updates, in.Bytes())
		}
		if !in.OK() {
			break
		}
	}
	return updates, in.End()
}

// AppendTargets appends what runs next.
func AppendTargets(b []byte, targets []Target) []byte {
	return appendTargets(wire.AppendArrayLen(b, len(targets)), targets)
}

// AppendChoice appends the result of a node that routes: its update and what it chose.
func AppendChoice(b, update []byte, targets []Target) []byte {
	b = wire.AppendArrayLen(b, len(targets)+1)
	if update == nil {
		update = []byte{}
	}
	return appendTargets(wire.AppendBytes(b, update), targets)
}

func appendTargets(b []byte, targets []Target) []byte {
	for _, t := range targets {
		b = wire.AppendString(wire.AppendArrayLen(b, 2), t.Node)
		if t.Sent == nil {
			b = wire.AppendNil(b)
			continue
		}
		b = wire.AppendBytes(b, t.Sent)
	}
	return b
}

// ReadTargets calls each with what AppendTargets wrote, in order.
func ReadTargets(b []byte, each func(Target) error) error {
	in := wire.NewReader("result", b)
	return readTargets(&in, in.ArrayLen(), each)
}

var errNoUpdate = errors.New("got an empty array; want the update of a choice")

// ReadChoice returns the update that AppendChoice wrote, and calls each with the targets, in
// order.
func ReadChoice(b []byte, each func(Target) error) (update []byte, err error) {
	in := wire.NewReader("result", b)
	n := in.ArrayLen()
	if n == 0 {
		in.Damage(0, errNoUpdate)
	}
	update = in.Bytes()
	return update, readTargets(&in, n-1, each)
}

func readTargets(in *wire.Reader, n int, each func(Target) error) error {
	for range n {
		in.FixedArray(2)
		t := Target{Node: in.Str(), Sent: in.Bytes()}
		if !in.OK() {
			break
		}
		if err := each(t); err != nil {
			return err
		}
	}
	err := in.End()
	in.Framed()
	return err
}

// Cut returns the beginning of text that has at most so many bytes, cut between two characters.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

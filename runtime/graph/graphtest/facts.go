package graphtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// lockHead begins the first line of a lock. The number of its format follows.
const (
	lockHead   = "# graphgen lock of a graph, format "
	lockFormat = 1
)

// The first words of facts, and the words after the id of a node.
const (
	factGraph  = "graph" // graph <name> [former <name>]
	factNode   = "node"  // node <graph> <id> and one of the following
	factJoin   = "join"  // join <graph> <node> <sources...>
	hasKind    = "kind"  // its kind; then "routing" if the node chooses its successors
	hasFormer  = "former"
	hasCalls   = "calls" // the graph of a subgraph node
	hasMemory  = "stateful"
	hasQueue   = "queue"
	hasTarget  = "chooses" // a target of a node that is routing
	hasPayload = "payload" // of a send: a path in it, and the type there
	hasAsks    = "question"
	hasSignal  = "signal"
	isRouting  = "routing"
)

// fact is one line of a lock, as words.
type fact []string

// String returns the line of the fact. A word with other characters than those of names is quoted.
func (f fact) String() string {
	words := make([]string, len(f))
	for i, w := range f {
		if words[i] = w; w == "" || strings.ContainsFunc(w, unusual) || strings.HasPrefix(w, "#") {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

func unusual(c rune) bool { return c <= ' ' || c == '"' || c == '\\' || c >= 0x7f }

// facts are the facts of a graph and of its subgraphs, sorted.
type facts struct {
	graph string
	all   []fact
	names map[string]string    // by present and former name: the present name of a graph
	ids   map[[2]string]string // by graph and present or former id: the present id of a node
	known map[string]bool
}

func newFacts() *facts {
	return &facts{names: make(map[string]string), ids: make(map[[2]string]string), known: make(map[string]bool)}
}

func (fs *facts) add(words ...string) {
	f := fact(words)
	if line := f.String(); !fs.known[line] {
		fs.known[line] = true
		fs.all = append(fs.all, f)
	}
}

func (fs *facts) has(f fact) bool { return fs.known[f.String()] }

// String returns the file of a lock.
func (fs *facts) String() string {
	lines := make([]string, len(fs.all))
	for i, f := range fs.all {
		lines[i] = f.String() + "\n"
	}
	slices.Sort(lines)
	return lockHead + strconv.Itoa(lockFormat) + "\n" + strings.Join(lines, "")
}

// readFacts reads the file of a lock.
func readFacts(text string) (*facts, error) {
	head, rest, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	number, ok := strings.CutPrefix(head, lockHead)
	switch {
	case isMergeMark(head):
		return nil, fmt.Errorf("line 1: %w", errMergeMark)
	case !ok:
		return nil, fmt.Errorf("line 1: got %q, want %q and a number; restore the file", head, lockHead)
	case number != strconv.Itoa(lockFormat):
		return nil, fmt.Errorf("line 1: format %q; this program reads format %d; use a newer graphgen, or restore the file", number, lockFormat)
	}
	fs := newFacts()
	for i, line := range strings.Split(rest, "\n") {
		if line == "" {
			continue
		}
		if isMergeMark(line) {
			return nil, fmt.Errorf("line %d: %w", i+2, errMergeMark)
		}
		f, err := readFact(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %q; restore the line", i+2, err, line)
		}
		fs.add(f...)
	}
	return fs, nil
}

var (
	errNoFact    = errors.New("it states no fact")
	errMergeMark = errors.New("it has the marks of a merge conflict; keep the lines of both sides, remove the marks, and run the test again")
)

// isMergeMark reports whether git wrote the line for a conflict.
func isMergeMark(line string) bool {
	return slices.ContainsFunc([]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}, func(mark string) bool {
		return line == mark || strings.HasPrefix(line, mark+" ")
	})
}

// readFact reads a line of a lock.
func readFact(line string) (f fact, err error) {
	for rest := line; rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, after, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errNoFact
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, errNoFact
			}
			after = rest[len(quoted):]
		}
		f, rest = append(f, word), after
	}
	if !f.valid() {
		return nil, errNoFact
	}
	return f, nil
}

// valid reports whether the fact has as many words as its kind needs.
func (f fact) valid() bool {
	switch {
	case len(f) < 2:
		return false
	case f[0] == factGraph:
		return len(f) == 2 || len(f) == 4
	case f[0] == factJoin:
		return len(f) >= 4
	case f[0] != factNode || len(f) < 4:
		return false
	}
	words := map[string]int{
		hasKind: 5, hasFormer: 5, hasCalls: 5, hasMemory: 4, hasQueue: 5, hasTarget: 5, hasPayload: 6, hasAsks: 8, hasSignal: 7,
	}[f[3]]
	return words == len(f) || f[3] == hasKind && len(f) == 6
}

// factsOf returns what stored threads need of a graph.
func factsOf(app Described) *facts {
	fs, d := newFacts(), app.Describe()
	fs.graph = d.Graph
	seen := make(map[*graph.Description]bool)
	var describe func(d *graph.Description)
	describe = func(d *graph.Description) {
		if seen[d] {
			return
		}
		seen[d] = true
		fs.addGraph(d)
		for i := range d.Nodes {
			if sub := d.Nodes[i].Subgraph; sub != nil {
				describe(sub)
			}
		}
	}
	describe(d)
	for _, p := range app.Payloads() {
		fs.addPayloads(&p)
	}
	slices.SortFunc(fs.all, slices.Compare)
	return fs
}

func (fs *facts) addGraph(d *graph.Description) {
	fs.names[d.Graph] = d.Graph
	fs.add(factGraph, d.Graph)
	for _, was := range d.FormerNames {
		fs.names[was] = d.Graph
		fs.add(factGraph, d.Graph, hasFormer, was)
	}
	for i := range d.Nodes {
		fs.addNode(d.Graph, &d.Nodes[i])
	}
	for _, e := range d.Edges {
		n := slices.IndexFunc(d.Nodes, func(n graph.NodeDescription) bool { return n.ID == e.From })
		if n >= 0 && d.Nodes[n].Routes && e.Kind != graph.KindEdge {
			fs.add(factNode, d.Graph, string(e.From), hasTarget, string(e.To))
		}
	}
	for _, j := range d.Joins {
		if j.Any {
			continue
		}
		f := fact{factJoin, d.Graph, string(j.To)}
		for _, from := range j.From {
			f = append(f, string(from))
		}
		slices.Sort(f[3:])
		fs.add(f...)
	}
}

func (fs *facts) addNode(name string, n *graph.NodeDescription) {
	add := func(words ...string) { fs.add(append([]string{factNode, name, string(n.ID)}, words...)...) }
	fs.ids[[2]string{name, string(n.ID)}] = string(n.ID)
	if n.Routes {
		add(hasKind, string(n.Kind), isRouting)
	} else {
		add(hasKind, string(n.Kind))
	}
	for _, was := range n.FormerIDs {
		fs.ids[[2]string{name, string(was)}] = string(n.ID)
		add(hasFormer, string(was))
	}
	if n.Subgraph != nil {
		add(hasCalls, n.Subgraph.Graph)
	}
	if n.Stateful {
		add(hasMemory)
	}
	if n.Queue != "" {
		add(hasQueue, n.Queue)
	}
}

// rename returns a fact of a lock under today's names of graphs and nodes.
func (fs *facts) rename(f fact) fact {
	f = slices.Clone(f)
	if now, ok := fs.names[f[1]]; ok {
		f[1] = now
	}
	from, to := 2, 3
	switch f[0] {
	case factGraph:
		return f
	case factJoin:
		to = len(f)
	}
	for i := from; i < to; i++ {
		if id, ok := fs.ids[[2]string{f[1], f[i]}]; ok {
			f[i] = id
		}
	}
	switch {
	case f[0] == factJoin:
		slices.Sort(f[3:])
	case f[3] == hasCalls && fs.names[f[4]] != "":
		f[4] = fs.names[f[4]]
	case f[3] == hasTarget && fs.ids[[2]string{f[1], f[4]}] != "":
		f[4] = fs.ids[[2]string{f[1], f[4]}]
	}
	return f
}

// missing returns the consequence of a fact of a lock that the graph does not have, and whether it
// breaks stored threads.
func (fs *facts) missing(f fact) (why string, breaks bool) {
	switch {
	case fs.names[f[1]] == "":
		return fmt.Sprintf("graph %q is gone; if it has another name now, list this one by graph.FormerNames", f[1]), true
	case f[0] == factGraph:
		return fmt.Sprintf("graph %q does not list its former name any more: %s", f[1], f), f[len(f)-1] != f[1]
	case f[0] == factJoin:
		return fs.missingJoin(f)
	case fs.ids[[2]string{f[1], f[2]}] == "":
		return fmt.Sprintf("node %q of graph %q is gone; if it has another id now, list this one by graph.FormerIDs on it", f[2], f[1]), true
	}
	return fs.missingPart(f, fmt.Sprintf("node %q of graph %q", f[2], f[1]))
}

// missingPart is missing for a fact about a node that exists.
func (fs *facts) missingPart(f fact, node string) (why string, breaks bool) {
	switch f[3] {
	case hasKind:
		return fs.otherKind(f, node)
	case hasFormer:
		return fs.missingFormer(f, node)
	case hasCalls:
		return fmt.Sprintf("%s calls another graph than %q; give the new graph a node of its own, or list the name by graph.FormerNames", node, f[len(f)-1]), true
	case hasMemory:
		return node + " is not Stateful any more, and forgets the state of its calls", true
	case hasQueue:
		return fmt.Sprintf("%s has left the queue %q; its workers still run the tasks that were handed out", node, f[len(f)-1]), false
	case hasTarget:
		return fmt.Sprintf("%s cannot choose %q any more; a stored choice of it is refused", node, f[len(f)-1]), true
	case hasPayload:
		how, breaks := fs.otherPayload(f)
		return fmt.Sprintf("%s: the payload of sends to it %s", node, how), breaks
	}
	if !slices.ContainsFunc(fs.all, func(now fact) bool { return len(now) == len(f) && slices.Equal(now[:5], f[:5]) }) {
		return fmt.Sprintf("%s does not list %s %q any more; list it as long as threads may wait for it", node, f[3], f[4]), true
	}
	how, breaks := fs.otherPayload(f)
	return fmt.Sprintf("%s: %s %q: its payload %s", node, f[3], f[4], how), breaks
}

// missingFormer is missing for a former id. Another node may list the id, or the node may have it
// again. A new node of that id would get the tasks of the old one.
func (fs *facts) missingFormer(f fact, node string) (why string, breaks bool) {
	id := f[len(f)-1]
	switch now := fs.ids[[2]string{f[1], id}]; {
	case now == id && id != f[2]:
		return fmt.Sprintf("%s does not list its former id %q any more, and a new node has it; stored tasks of %q would run the new node. "+
			"Give the new node another id, and list %q by graph.FormerIDs", node, id, id, id), true
	case now == "":
		return fmt.Sprintf("%s does not list its former id %q any more; list it by graph.FormerIDs as long as threads may wait at it", node, id), true
	}
	return fmt.Sprintf("%s does not list its former id %q any more, because node %q has it", node, id, fs.ids[[2]string{f[1], id}]), false
}

// otherKind is missing for a node of another kind. A node may become a subgraph over a state of
// its own. Threads that wait at it have no call yet, and stored results have the same form. The
// result of a routing node has its choice, too. The result of a Subgraph is a list.
func (fs *facts) otherKind(f fact, node string) (why string, breaks bool) {
	was, now := f[4:].String(), ""
	for _, other := range fs.all {
		if len(other) > 4 && slices.Equal(other[:4], f[:4]) {
			now = other[4:].String()
		}
	}
	to := map[string]graph.NodeKind{string(graph.KindNode): graph.KindMapSubgraph, string(graph.KindTask): graph.KindTaskSubgraph}[f[4]]
	breaks = to == "" || now != fact(append([]string{string(to)}, f[5:]...)).String()
	why = fmt.Sprintf("%s was of kind %s and is of kind %s", node, was, now)
	if breaks {
		why += "; give the new one another id, and keep the old one until no thread waits at it"
	}
	return why, breaks
}

// missingJoin is missing for a join. A join may get more sources.
func (fs *facts) missingJoin(f fact) (why string, breaks bool) {
	for _, now := range fs.all {
		if now[0] != factJoin || now[1] != f[1] || now[2] != f[2] {
			continue
		}
		if !slices.ContainsFunc(f[3:], func(from string) bool { return !slices.Contains(now[3:], from) }) {
			return fmt.Sprintf("the join to %q of graph %q waits for more nodes than %q", f[2], f[1], []string(f[3:])), false
		}
	}
	return fmt.Sprintf("the join of %q to %q of graph %q is gone; a thread that has run some of these nodes is refused", []string(f[3:]), f[2], f[1]), true
}

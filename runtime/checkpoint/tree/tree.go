// Package tree (experimental) arranges the records of a thread as a tree, with its forks.
//
// A log is a sequence, but its records form a tree: each record names its Parent. A replay or a
// fork continues an older record, so that record has two children. [Lanes] places records in the
// lanes of a drawing, newest first and one at a time. It suits long histories that are read in
// pages. [Build] returns a whole tree with its links, for a history that fits in memory.
//
// Both take records as [checkpoint.Saver.History] yields them: newest first, of one namespace,
// with the sources of [Sources]. They use only ID, Parent and Source, so Query.Headers suffices.
// Untrusted records are safe. A parent that is missing, or newer than its child, leads to another
// drawing. It never leads to a panic or an endless loop.
package tree

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// Sources returns all sources of records, for Query.Sources. A checkpoint can be the child of a
// record of a resume, which History omits by default. A tree without these records has gaps.
func Sources() []checkpoint.Source {
	return []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume}
}

// None is the Parent of a node whose parent is not part of the tree.
const None = -1

// Node is one record of a tree.
type Node struct {
	Record   checkpoint.Record
	Parent   int   // the index of the parent among the nodes; None for a root
	Children []int // the indexes of the children, oldest first
	Row      Row   // the place in a drawing, newest first
	// Current reports that the node is the newest record or one of its ancestors. The nodes that
	// are not current belong to other branches.
	Current bool
}

// Build returns one node for each of records, in the same order. records must be newest first. The
// parent of a record that is not among records, or not older than the record, is None. The nodes
// share memory with records. Build takes linear time.
func Build(records []checkpoint.Record) []Node {
	nodes := make([]Node, len(records))
	index := make(map[checkpoint.ID]int, len(records))
	for i := range records {
		index[records[i].ID] = i
	}
	var lanes Lanes
	for i := range records {
		nodes[i].Record, nodes[i].Row = records[i], lanes.Add(&records[i])
		nodes[i].Parent = None
		if parent, ok := index[records[i].Parent]; ok && parent > i {
			nodes[i].Parent = parent
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- { // oldest first, so that Children are
		if parent := nodes[i].Parent; parent != None {
			nodes[parent].Children = append(nodes[parent].Children, i)
		}
	}
	for i := 0; len(nodes) > 0 && i != None; i = nodes[i].Parent {
		nodes[i].Current = true
	}
	return nodes
}

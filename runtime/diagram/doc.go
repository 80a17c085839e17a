// Package diagram (experimental) draws graphs. Mermaid, DOT and PlantUML return text for these
// programs, and SVG returns a picture that needs no other program.
//
//	os.WriteFile("graph.svg", diagram.SVG(app.Describe()), 0o644)
//
// Main is a whole program that writes pictures, for go generate.
//
// # Pictures
//
//   - A node is a box with its id. Lines below the id name questions, signals, stops and the
//     queue. A subgraph has a double border. A node that runs for each send has a stack of
//     borders, where the format allows it.
//   - A solid arrow is an edge. A dashed arrow is a target of a route. A dotted arrow with the
//     label "send" is a target that gets sends.
//   - A Join is a small box with the label "all", and a JoinAny one with "any".
//
// The functions accept every Description, also one that was decoded from JSON. Any id is possible.
// A nil Description is a graph without nodes. A mark of a node that the graph does not have is
// ignored. The functions modify neither descriptions nor places, and are safe for concurrent use.
package diagram

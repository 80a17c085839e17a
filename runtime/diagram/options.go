package diagram

// Option changes a picture. A nil Option has no effect.
type Option func(*options)

type options struct {
	expand  bool
	details bool
	across  bool
	place   Place
}

// Expand draws the nodes of subgraphs inside their nodes. Without it a subgraph is one box. From
// 10,000 boxes on, further subgraphs are one box.
func Expand() Option { return func(o *options) { o.expand = true } }

// Details draws also the nodes with the option graph.Detail. Without it, such a node is drawn only
// if At marks it as due, waiting or failed.
func Details() Option { return func(o *options) { o.details = true } }

// LeftToRight draws the graph from left to right. Without it the graph is drawn from top to
// bottom.
func LeftToRight() Option { return func(o *options) { o.across = true } }

// At marks the nodes of a place as done, due, waiting or failed. Of several options At, the last
// one counts.
func At(p Place) Option { return func(o *options) { o.place = p } }

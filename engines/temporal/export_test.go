package temporal

// Workflow returns the id of the workflow of a graph.
func Workflow(e *Engine, graph string) string { return e.workflow(graph) }

//go:build !deterministic

package simulation_test

// deterministic says that the runtime is that of Go. There, no time passes in a bubble while a
// goroutine waits for a mutex that another one holds during a call.
const deterministic = false

func seedBubbles(uint64) {}

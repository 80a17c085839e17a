//go:build deterministic

package simulation_test

import _ "unsafe" // for the name of the runtime

// deterministic reports whether the runtime has the changes of internal/simruntime.
const deterministic = true

// seedBubbles seeds all random choices of the runtime in bubbles.
//
//go:linkname seedBubbles runtime.seedBubbles
func seedBubbles(seed uint64)

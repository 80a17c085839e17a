package collisions

import runtime "github.com/graphgen-go/graphgen/runtime/state/cell"

var stateOptions = runtime.Options{Record: true}

package collisions

import runtime "github.com/graphgen-go/graphgen/runtime/state"

var stateOptions = runtime.Options{Record: true}

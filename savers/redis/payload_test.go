package redis_test

import "github.com/graphgen-go/graphgen/runtime/wire"

// state and change are a state with one list and a change that appends to it.
func state(element string) []byte {
	b := wire.AppendString(wire.AppendMapLen(nil, 1), "log")
	return wire.AppendString(wire.AppendArrayLen(b, 1), element)
}

func change(element string) []byte {
	const opAppend = 1
	b := wire.AppendInt(wire.AppendArrayLen(nil, 2), 0)
	b = wire.AppendString(wire.AppendMapLen(b, 1), "log")
	b = wire.AppendInt(wire.AppendArrayLen(b, 2), opAppend)
	return wire.AppendString(wire.AppendArrayLen(b, 1), element)
}

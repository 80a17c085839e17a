package redis

import (
	_ "embed" // the scripts are files
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The scripts. Each begins with common.lua and index.lua.
var (
	//go:embed lua/common.lua
	commonLua string
	//go:embed lua/index.lua
	indexLua string
	//go:embed lua/read.lua
	readLua string
	//go:embed lua/apply.lua
	applyLua string
	//go:embed lua/note.lua
	noteLua string
	//go:embed lua/place.lua
	placeLua string
)

// scripts are those of rows.
type scripts struct{ read, apply, note, place *goredis.Script }

// newScripts returns the scripts. The flags make a server that has no memory left refuse a whole
// script that writes, and never one that reads.
func newScripts() scripts {
	script := func(flags, source string) *goredis.Script {
		return goredis.NewScript("#!lua" + flags + "\n" + commonLua + indexLua + source)
	}
	return scripts{read: script(" flags=no-writes", readLua), apply: script("", applyLua), note: script("", noteLua), place: script("", placeLua)}
}

// damaged returns an error that is ErrDamaged if a script failed because of what is stored.
func damaged(err error) error {
	text := err.Error()
	script := strings.Contains(text, "user_script") && (strings.Contains(text, "damaged: ") || strings.Contains(text, "attempt to "))
	if script || goredis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", checkpoint.ErrDamaged, err)
	}
	return err
}

// sentOnce is a command that the client does not send again.
type sentOnce struct{ *goredis.Cmd }

// NoRetry returns true.
func (sentOnce) NoRetry() bool { return true }

package redis

import (
	_ "embed" // the scripts are files
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// The scripts. A script of rows begins with common.lua and index.lua, one of the store with
// store.lua.
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
	//go:embed lua/store.lua
	storeLua string
	//go:embed lua/store_do.lua
	storeDoLua string
	//go:embed lua/store_find.lua
	storeFindLua string
	//go:embed lua/store_namespaces.lua
	storeNamespacesLua string
	//go:embed lua/store_near.lua
	storeNearLua string
	//go:embed lua/store_declare.lua
	storeDeclareLua string
	//go:embed lua/store_sweep.lua
	storeSweepLua string
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

// storeScripts are those of the store.
type storeScripts struct {
	storeDo, storeFind, storeNamespaces, storeSweep, storeDeclare, storeNear *goredis.Script
}

// newStoreScripts returns the scripts of the store, each with the functions that they share.
func newStoreScripts() storeScripts {
	items := func(source string) *goredis.Script { return goredis.NewScript(storeLua + source) }
	return storeScripts{
		storeDo: items(storeDoLua), storeFind: items(storeFindLua), storeNamespaces: items(storeNamespacesLua), storeSweep: items(storeSweepLua),
		storeDeclare: items(storeDeclareLua), storeNear: items(storeNearLua),
	}
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

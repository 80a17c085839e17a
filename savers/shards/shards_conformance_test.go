package shards_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/savertest"
	"github.com/graphgen-go/graphgen/savers/shards"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// TestMixed has shards of three kinds. Their storage is not shared, because of the memory.
func TestMixed(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{Open: func() (checkpoint.Saver, error) {
			return opened(tb.Context(), onFile("f", dir), onMemory("m"), onSQLite("s", dir))
		}}
	})
}

// TestShared has two shards that several savers share.
func TestShared(t *testing.T) {
	savertest.Run(t, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		dir := tb.TempDir()
		return savertest.Storage{Shared: true, Open: func() (checkpoint.Saver, error) {
			return opened(tb.Context(), onFile("f", dir), onSQLite("s", dir))
		}}
	}, savertest.Without("TestMixed runs them: no call of these areas concerns two savers",
		savertest.Records, savertest.History, savertest.Writes, savertest.Outcomes, savertest.Schemas, savertest.Listings, savertest.Transfer))
}

// opened opens a saver over shards.
func opened(ctx context.Context, all ...shards.Shard) (checkpoint.Saver, error) {
	s, err := shards.Open(ctx, all...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func onMemory(name string) shards.Shard { return on(name, memory.New()) }

func onFile(name, dir string) shards.Shard {
	return shards.Shard{Name: name, Open: func(context.Context) (checkpoint.Saver, error) {
		return file.Open(filepath.Join(dir, name), file.NoSync())
	}}
}

func onSQLite(name, dir string) shards.Shard {
	return shards.Shard{Name: name, Open: func(context.Context) (checkpoint.Saver, error) {
		return sqlite.Open(filepath.Join(dir, name+".db"), sqlite.Synchronous(sqlite.Normal))
	}}
}

// on is a shard whose saver is open.
func on(name string, s checkpoint.Saver) shards.Shard {
	return shards.Shard{Name: name, Open: func(context.Context) (checkpoint.Saver, error) { return s, nil }}
}

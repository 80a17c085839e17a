package shards_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/shards"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// This example keeps the threads of a graph in three databases. In production each of them would
// be a PostgreSQL of its own.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var all []shards.Shard
	for _, name := range []string{"one", "two", "three"} {
		all = append(all, shards.Shard{Name: name, Open: func(context.Context) (checkpoint.Saver, error) {
			return sqlite.Open(filepath.Join(dir, name+".db"))
		}})
	}
	saver, err := shards.Open(ctx, all...)
	if err != nil {
		log.Fatal(err)
	}
	defer saver.Close()

	b := graph.New("orders", OrderSchema)
	b.Node("pack", func(ctx context.Context, _ Order) (u OrderUpdate, err error) {
		u.Log.Append("packed " + graph.CurrentTask(ctx).Thread)
		return u, nil
	})
	b.Edge(graph.Start, "pack")
	b.Edge("pack", graph.End)
	orders, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"order-1", "order-2", "order-3"} {
		res, err := orders.Thread(id).Invoke(ctx, OrderUpdate{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.State.Log, "on shard", saver.Shard(id))
	}
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Graph: "orders"}) {
		if err != nil {
			log.Fatal(err) // checkpoint.ErrPartial if a shard is down
		}
		fmt.Println(t.ID, t.Status)
	}
	if err := saver.Close(); err != nil {
		log.Fatal(err)
	}

	_, err = shards.Open(ctx, all[:2]...)
	var layout *shards.LayoutError
	fmt.Println(errors.As(err, &layout))
	// Output:
	// [packed order-1] on shard two
	// [packed order-2] on shard three
	// [packed order-3] on shard two
	// order-3 done
	// order-2 done
	// order-1 done
	// true
}

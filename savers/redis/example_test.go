package redis_test

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/redis"
)

// A saver on one server, or a cluster. Threads that are done go after 30 days.
func ExampleNew() { //nolint:testableexamples // it needs a server
	client := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: []string{"localhost:6379"}})
	saver, err := redis.New(client, redis.Prefix("desk:"), redis.TTL(30*24*time.Hour), redis.CloseClient())
	if err != nil {
		fmt.Println(err) // a *redis.SettingsError says which settings may lose checkpoints
		return
	}
	defer saver.Close()
	for thread, err := range saver.Threads(context.Background(), checkpoint.ThreadQuery{Status: checkpoint.Waiting}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(thread.ID, "waits since", thread.Updated, "for", len(thread.Questions), "answers")
	}
}

// A server that syncs once a second is known to lose up to a second when its machine loses power.
func ExampleAllowUnsafeSettings() { //nolint:testableexamples // it needs a server
	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	saver, err := redis.New(client, redis.AllowUnsafeSettings(func(err error) { fmt.Println("note:", err) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer saver.Close()
}

// Workers on several machines learn of due threads by publish and subscribe.
func ExampleNewEngine() { //nolint:testableexamples // it needs a server
	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	db, err := redis.New(client, redis.CloseClient())
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := redis.NewEngine(client, "graphgen:")
	saver := worker.Announce(db, engine, nil)              // for the graphs in each process
	w := worker.New(saver, worker.Options{Engine: engine}) // with the graphs as further arguments
	if err := w.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
}

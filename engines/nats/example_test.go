package nats_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
)

// A hint from one connection to another one. Usually worker.Announce calls Wake, and a
// worker.Worker calls Listen.
func ExampleNewEngine() {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		log.Fatal("the server is not ready")
	}
	var engines []*graphgennats.Engine
	for range 2 {
		conn, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1))
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		engines = append(engines, graphgennats.NewEngine(conn, "graphgen"))
	}

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err = engines[0].Listen(ctx, []string{"orders"}, func(graph, thread string) {
		if thread == "" { // it listens
			if err := engines[1].Wake(ctx, "orders", "order-7"); err != nil {
				log.Fatal(err)
			}
			return
		}
		fmt.Println(graph, thread)
		stop()
	})
	fmt.Println(err)
	// Output:
	// orders order-7
	// nats: listen: context canceled
}

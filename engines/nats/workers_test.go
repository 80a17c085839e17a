package nats_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/graphgen-go/graphgen/engines/internal/crate"
	graphgennats "github.com/graphgen-go/graphgen/engines/nats"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// openWorker returns the queue of a worker in another process.
func openWorker(url string) (graph.TaskQueue, func(), error) {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	return graphgennats.NewTaskQueue(js, "acme.graphs", graphgennats.TaskQueueOptions{AckWait: time.Second}), conn.Close, err
}

func TestAWorkerThatIsKilledCostsItsTasksOnly(t *testing.T) {
	p := startServer(t)
	q, _ := p.queueOn(t, time.Second)
	crate.Killed(t, q, "nats://127.0.0.1:"+p.port)
}

func TestAServerThatLosesAllCostsNoTask(t *testing.T) {
	p := startServer(t)
	crate.Restarted(t, func() graph.TaskQueue {
		q, _ := p.queueOn(t, 200*time.Millisecond)
		return q
	}, func() {
		p.kill(t)
		p.start(t)
	})
}

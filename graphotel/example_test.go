package graphotel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/graphgen-go/graphgen/graphotel"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A run and its tasks have spans. A program exports them by OTLP instead of keeping them.
func Example() {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	tel, err := graphotel.New(graphotel.TracerProvider(provider))
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("orders", JobSchema)
	b.Node("charge", say("charged"))
	b.Node("ship", say("shipped"))
	b.Chain(graph.Start, "charge", "ship", graph.End)
	app, err := b.Compile(append(tel.Options(), graph.Saver(tel.Saver(memory.New())))...)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := app.Thread("order-7").Invoke(context.Background(), JobUpdate{}); err != nil {
		log.Fatal(err)
	}
	for _, span := range spans.GetSpans() { // in the order of their ends
		fmt.Println(span.Name)
	}
	// Output:
	// graphgen.saver load
	// graphgen.saver append
	// task charge
	// graphgen.saver append
	// superstep
	// task ship
	// graphgen.saver append
	// superstep
	// run orders
}

package diagram_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A picture shows where a thread stands.
func Example() {
	work := func(context.Context, Order) (u OrderUpdate, err error) { return u, nil }
	g := graph.New("shop", OrderSchema)
	g.Node("reserve", work)
	g.Node("ship", work)
	g.Chain(graph.Start, "reserve", "ship", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()), graph.InterruptBefore("ship"))
	if err != nil {
		log.Fatal(err)
	}
	order := app.Thread("order-7")
	if _, err := order.Invoke(context.Background(), OrderUpdate{}); err != nil {
		log.Fatal(err)
	}
	head, err := order.State(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(diagram.Mermaid(app.Describe(), diagram.LeftToRight(), diagram.At(diagram.PlaceOf(head))))
	// Output:
	// flowchart LR
	//     n1(["Start"])
	//     n2["reserve"]
	//     n3["ship<br/><small>stops before</small>"]
	//     n4(["End"])
	//     n1 --> n2
	//     n2 --> n3
	//     n3 --> n4
	//     classDef done fill:#d8f0dd,stroke:#2f7d44,color:#111
	//     class n2 done
	//     classDef waiting fill:#fff0c8,stroke:#9a6a00,color:#111
	//     class n3 waiting
}

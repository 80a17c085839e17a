package open_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/savers/open"
)

// This example opens the savers of a configuration, one for each kind of graph.
func Example() {
	ctx := context.Background()
	savers := make(open.Savers)
	for name, url := range map[string]string{"chats": "memory:", "drafts": "memory:"} {
		saver, err := open.Saver(ctx, url)
		if err != nil {
			log.Fatal(err)
		}
		savers[name] = saver
	}
	chats, err := savers.Named("chats")
	fmt.Println(chats != nil, err)
	_, err = savers.Named("chat")
	fmt.Println(err)
	fmt.Println(savers.Close())
	// Output:
	// true <nil>
	// open: no saver is named "chat"; want one of chats, drafts
	// <nil>
}

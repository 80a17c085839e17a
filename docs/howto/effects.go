package howto

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// bank is the URL of a service that executes a payment once for each Idempotency-Key.
type bank string

func (b bank) charge(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(b)+"/charges/"+s.Order, nil)
	if err != nil {
		return u, err
	}
	req.Header.Set("Idempotency-Key", graph.CurrentTask(ctx).Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return u, err
	}
	defer res.Body.Close() //nolint:errcheck // the body is not read
	if res.StatusCode != http.StatusOK {
		return u, fmt.Errorf("the bank answered %s", res.Status)
	}
	u.Paid.Set(true)
	return u, nil
}

func (b bank) refund(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	receipt, err := graph.Do(ctx, "refund", func(ctx context.Context) (Receipt, error) {
		return b.post(ctx, "/refunds/"+s.Order, graph.CurrentTask(ctx).Key) // the key of this call
	})
	if err != nil {
		return u, err
	}
	_, err = graph.Do(ctx, "note", func(ctx context.Context) (Receipt, error) {
		return b.post(ctx, "/notes/"+receipt.Number, graph.CurrentTask(ctx).Key)
	})
	if err != nil {
		return u, err // the node runs again, and pays nothing again
	}
	u.Log.Append("refunded, receipt " + receipt.Number)
	return u, nil
}

// post sends an empty request, and reads the number of the receipt.
func (b bank) post(ctx context.Context, path, key string) (Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(b)+path, nil)
	if err != nil {
		return Receipt{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Receipt{}, err
	}
	defer res.Body.Close() //nolint:errcheck // the body has been read
	number, err := io.ReadAll(io.LimitReader(res.Body, 100))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the bank answered %s", res.Status)
	}
	return Receipt{Number: string(number)}, err
}

// outbox is a database with the table mail (id TEXT PRIMARY KEY, body TEXT). A worker sends its
// rows.
type outbox struct{ db *sql.DB }

func (o outbox) write(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	_, err := o.db.ExecContext(ctx, `INSERT INTO mail (id, body) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`,
		graph.CurrentTask(ctx).Key, "Your refund for "+s.Order+" is on its way.")
	if err != nil {
		return u, err
	}
	u.Log.Append("wrote to the customer")
	return u, nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// client calls the partners: the warehouse, the bank and the carrier.
type client struct {
	url  string
	http *http.Client
}

// charge is a request to the bank.
type charge struct {
	Card  string `json:"card"`
	Cents int64  `json:"cents"`
}

// refusal is the reason for which a partner does not do what it was asked. To ask again does not
// help.
type refusal string

func (r refusal) Error() string { return "refused: " + string(r) }

// post asks a partner to do something for the order of the current task.
func (c client) post(ctx context.Context, what string, body any) error {
	return c.call(ctx, http.MethodPost, what, body)
}

// undo asks a partner to take that back, also if it is not done yet.
func (c client) undo(ctx context.Context, what string) error {
	return c.call(ctx, http.MethodDelete, what, nil)
}

// call sends one request. A task whose process dies is run again, so a partner can get its request
// twice. It recognises the request by the key of the task, and does it once.
func (c client) call(ctx context.Context, method, what string, body any) error {
	task := graph.CurrentTask(ctx)
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+"/"+what+"/"+orderOf(task.Thread), bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", task.Key)
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1000))
	err = errors.Join(err, res.Body.Close())
	switch {
	case err != nil:
		return err
	case res.StatusCode == http.StatusConflict:
		return refusal(strings.TrimSpace(string(text)))
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: the partner answered %s", method, what, res.Status)
	}
	return nil
}

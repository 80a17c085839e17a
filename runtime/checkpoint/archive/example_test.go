package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Back up all versions of all threads to a file, and restore them into another saver.
func Example() {
	ctx := context.Background()
	from, to := memory.New(), memory.New()
	for _, id := range []string{"order-1", "order-2"} {
		rec, _ := checkpoint.NewID()
		_, err := from.Append(ctx, checkpoint.Append{
			Thread: id, Open: &checkpoint.Opening{Holder: "example"}, End: true, Status: checkpoint.Done,
			Records: []checkpoint.Record{{ID: rec, Base: rec, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}},
		})
		if err != nil {
			fmt.Println(err)
		}
	}

	var file bytes.Buffer
	if err := backUp(ctx, from, &file); err != nil {
		fmt.Println(err)
	}
	if err := restore(ctx, &file, to); err != nil {
		fmt.Println(err)
	}
	// Output:
	// order-1, version 1: 1 record, done
	// order-2, version 1: 1 record, done
}

func backUp(ctx context.Context, saver checkpoint.Saver, file io.Writer) error {
	w := archive.NewWriter(file)
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{}) {
		if err != nil {
			return err
		}
		versions, err := saver.Versions(ctx, t.ID)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if err := w.Add(v, saver.Export(ctx, t.ID, v.Number)); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func restore(ctx context.Context, file io.Reader, saver checkpoint.Saver) error {
	r, err := archive.NewReader(file)
	if err != nil {
		return err
	}
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s, version %d: %d record, %s\n", v.Thread, v.Number, v.Records, v.Status)
		if err := saver.Import(ctx, v.Thread, r.Items()); err != nil {
			return err
		}
		if !v.Released.IsZero() {
			if _, err := saver.Release(ctx, v.Thread, v.Head); err != nil {
				return err
			}
		}
	}
}

// New is the second version of a program that is upgraded while it works.
//
//   - The graph parcels has a new node, a renamed one, and other fields in its state. Both
//     versions work on its threads.
//   - The graph letters has a state that the old version cannot read. So it has a new name.
//   - The graph faxes is new.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/internal/upgrade/replica"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func main() { replica.Main(compile) }

func compile(saver checkpoint.Saver) (map[string]replica.Graph, error) {
	p := graph.New("parcels", ParcelSchema)
	p.Chain(graph.Start, p.Node("check", parcel("check")), p.Node("measure", parcel("measure"), graph.FormerIDs("weigh")),
		p.Node("pack", parcel("pack")), p.Node("label", label), p.Node("send", parcel("send")), graph.End)
	parcels, err := p.Compile(graph.Saver(saver), graph.Lease(replica.Lease))
	if err != nil {
		return nil, err
	}
	letters, err := newLetters("post", graph.Saver(saver), graph.Lease(replica.Lease), graph.FormerNames("letters"))
	if err != nil {
		return nil, err
	}
	faxes, err := newLetters("faxes", graph.Saver(saver), graph.Lease(replica.Lease))
	if err != nil {
		return nil, err
	}
	return map[string]replica.Graph{
		"parcels": replica.Of(parcels, ParcelUpdate{}),
		"letters": replica.Of(letters, LetterUpdate{}),
		"faxes":   replica.Of(faxes, LetterUpdate{}),
	}, nil
}

func newLetters(name string, opts ...graph.Option) (*graph.Graph[Letter, LetterUpdate], error) {
	l := graph.New(name, LetterSchema)
	l.Chain(graph.Start, l.Node("stamp", stamp), l.Node("send", letter("send")), graph.End)
	return l.Compile(opts...)
}

func parcel(step string) func(context.Context, Parcel) (ParcelUpdate, error) {
	return func(ctx context.Context, _ Parcel) (u ParcelUpdate, _ error) {
		u.Steps.Append(step)
		return u, replica.Work(ctx)
	}
}

// label makes parcels whose names begin with "late" wait for longer than a lease.
func label(ctx context.Context, _ Parcel) (u ParcelUpdate, _ error) {
	if strings.HasPrefix(graph.CurrentTask(ctx).Thread, "late") {
		if err := graph.Sleep(ctx, 2*replica.Lease+time.Second); err != nil {
			return u, err
		}
	}
	u.Label.Set("printed")
	u.Steps.Append("label")
	return u, replica.Work(ctx)
}

func stamp(ctx context.Context, _ Letter) (u LetterUpdate, _ error) {
	u.Price.Set(95)
	u.Steps.Append("stamp 0.95")
	return u, replica.Work(ctx)
}

func letter(step string) func(context.Context, Letter) (LetterUpdate, error) {
	return func(ctx context.Context, l Letter) (u LetterUpdate, _ error) {
		u.Steps.Append(fmt.Sprintf("%s %d.%02d", step, l.Price/100, l.Price%100))
		return u, replica.Work(ctx)
	}
}

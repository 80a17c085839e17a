// Old is the first version of a program that is upgraded while it works.
package main

import (
	"context"

	"github.com/graphgen-go/graphgen/internal/upgrade/replica"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func main() { replica.Main(compile) }

func compile(saver checkpoint.Saver) (map[string]replica.Graph, error) {
	p := graph.New("parcels", ParcelSchema)
	p.Chain(graph.Start, p.Node("check", check), p.Node("weigh", parcel("weigh")), p.Node("pack", parcel("pack")),
		p.Node("send", parcel("send")), graph.End)
	parcels, err := p.Compile(graph.Saver(saver), graph.Lease(replica.Lease))
	if err != nil {
		return nil, err
	}
	l := graph.New("letters", LetterSchema)
	l.Chain(graph.Start, l.Node("stamp", stamp), l.Node("send", letter("send")), graph.End)
	letters, err := l.Compile(graph.Saver(saver), graph.Lease(replica.Lease))
	if err != nil {
		return nil, err
	}
	return map[string]replica.Graph{
		"parcels": replica.Of(parcels, ParcelUpdate{}),
		"letters": replica.Of(letters, LetterUpdate{}),
	}, nil
}

func check(ctx context.Context, _ Parcel) (u ParcelUpdate, _ error) {
	u.Owner.Set("Ada")
	u.Steps.Append("check by Ada")
	return u, replica.Work(ctx)
}

func parcel(step string) func(context.Context, Parcel) (ParcelUpdate, error) {
	return func(ctx context.Context, _ Parcel) (u ParcelUpdate, _ error) {
		u.Steps.Append(step)
		return u, replica.Work(ctx)
	}
}

func stamp(ctx context.Context, _ Letter) (u LetterUpdate, _ error) {
	u.Price.Set("0.95")
	u.Steps.Append("stamp 0.95")
	return u, replica.Work(ctx)
}

func letter(step string) func(context.Context, Letter) (LetterUpdate, error) {
	return func(ctx context.Context, l Letter) (u LetterUpdate, _ error) {
		u.Steps.Append(step + " " + l.Price)
		return u, replica.Work(ctx)
	}
}

package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// checkStored checks that what is stored agrees with itself and with the outcome of a call (rule
// 14.5). well says that the call had no error.
func (s *Storm) checkStored(ctx context.Context, res Result, well bool) error {
	c, err := s.Saver.Load(ctx, checkpoint.Ref{Thread: s.Thread})
	if err != nil {
		return fmt.Errorf("load after a call: %w", err)
	}
	status := c.Thread.Status
	switch {
	case c.Empty():
		return nil
	case (status == checkpoint.Done) == c.Unfinished():
		pending := c.Last.PendingRoutes
		return fmt.Errorf("the thread is stored as %s; %v is due, and routes of %v are pending", status, c.Next(), pending)
	case status == checkpoint.Done && len(c.Thread.Questions) > 0: // it has one branch, on which nothing is due
		return fmt.Errorf("the thread is stored as %s; open in it are %v", status, c.Thread.Questions)
	case !well || res.Status == 0:
		return nil
	case res.Checkpoint != c.Head:
		return fmt.Errorf("the outcome of the call is %s at %s; stored is %s",
			res.Status, s.diary.name(res.Checkpoint), s.diary.name(c.Head))
	case res.Status != status:
		return fmt.Errorf("the outcome of the call is %s; the thread is stored as %s", res.Status, status)
	}
	return nil
}

// expected returns nil for an error that a storm has to expect, and prepares the next call for it.
// It returns any other err.
func (s *Storm) expected(err error) error {
	var conflict *graph.ConflictError
	var node *graph.NodeError
	var steps *graph.MaxStepsError
	var thrown *graph.PanicError
	if errors.Is(err, ErrFault) {
		return nil // the results of a conflict might not be stored: do not mend nodes that would run again
	}
	if errors.As(err, &conflict) {
		s.World.Mend()
		s.rerun = []string{string(conflict.Nodes[0]), string(conflict.Nodes[1])}
		return nil
	}
	if errors.As(err, &node) && errors.As(err, &thrown) && !errors.Is(thrown, ErrBroken) {
		s.World.Mend()
		s.rerun = []string{string(node.Node)}
		return nil
	}
	switch {
	case err == nil, errors.As(err, &steps), errors.Is(err, ErrBroken),
		s.TakenOver > 0 && errors.Is(err, checkpoint.ErrConflict),
		strings.Contains(err.Error(), "is not due"), // a Rerun of nodes whose superstep was lost
		errors.Is(err, context.Canceled), errors.Is(err, graph.ErrDraining):
		return nil
	}
	return err
}

// Check compares what is stored with the checkpoints of the model. With whole, all of them must be
// there once. Else some between the first and the last may be missing.
func (s *Storm) Check(ctx context.Context, want []Point, whole bool) error {
	app, err := s.Spec.Build(s.World, graph.Saver(s.Saver))
	if err != nil {
		return err
	}
	t := app.Thread(s.Thread)
	snap, err := t.State(ctx)
	if err != nil {
		return err
	}
	var got []string
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if snap.Source == checkpoint.Update {
			continue // an edit that changed nothing
		}
		got = append(got, fmt.Sprintln(snap.Step, Text(snap.State), snap.Next, snap.Ran))
	}
	slices.Reverse(got)
	var lines []string
	for i, pt := range want {
		line := fmt.Sprintln(pt.Step, Text(pt.State), pt.Next, pt.Ran)
		if !whole && i > 0 && i < len(want)-1 && (len(lines) >= len(got) || got[len(lines)] != line) {
			continue
		}
		lines = append(lines, line)
	}
	var faults error
	if f := s.World.Faults(); f != nil {
		faults = errors.New(strings.Join(f, "\n"))
	}
	err = errors.Join(faults,
		differ("state", Text(snap.State), Text(want[len(want)-1].State)),
		differ("status", snap.Status.String(), checkpoint.Done.String()),
		differ("history", strings.Join(got, ""), strings.Join(lines, "")),
	)
	if err != nil {
		s.report(ctx)
	}
	return err
}

// report notes what is stored, for the report of a storm that failed.
func (s *Storm) report(ctx context.Context) {
	s.diary.note("what is stored: %s", s.diary.all(ctx, s.Saver, s.Thread))
}

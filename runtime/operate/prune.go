package operate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// prune removes what an Operation does not keep of a thread.
func (o *Operator) prune(ctx context.Context, op Operation, thread string) (Changed, error) {
	keep, do := op.Keep, o.Saver.Prune
	if keep.Fold == nil && o.Explain != nil {
		keep.Fold = o.fold
	}
	if op.DryRun {
		do = o.prunable
	}
	removed, err := do(ctx, thread, keep)
	none := err == nil && removed == checkpoint.PruneResult{}
	return Changed{Skipped: none, Whole: removed.Deleted, Versions: removed.Versions, Records: removed.Records}, err
}

// fold returns the state at the last record of a chain, or a *LockedError.
func (o *Operator) fold(_ string, chain []checkpoint.Record) ([]byte, error) {
	var state []byte
	var deltas [][]byte
	for i := range chain {
		if err := o.Locked(chain[i].Payload); err != nil {
			return nil, err
		}
		if chain[i].Snapshot {
			state, deltas = chain[i].Payload, nil
			continue
		}
		deltas = append(deltas, chain[i].Payload)
	}
	return checkpoint.Fold(state, deltas...)
}

// prunable returns what Prune would remove. It prunes a copy of the thread in memory.
func (o *Operator) prunable(ctx context.Context, thread string, keep checkpoint.Retention) (result checkpoint.PruneResult, err error) {
	versions, err := archive.Versions(ctx, o.Saver, thread)
	if err != nil {
		return result, err
	}
	if result.Deleted, err = o.over(ctx, versions, keep.Ended); err != nil || result.Deleted {
		return result, err
	}
	// Prune keeps messages.
	versions = slices.DeleteFunc(versions, func(v checkpoint.Version) bool { return v.Number == 0 })
	if len(versions) == 0 {
		return result, nil
	}
	trial := memory.New()
	defer func() { err = errors.Join(err, trial.Close()) }()
	for _, v := range versions {
		if err = checkpoint.Copy(ctx, o.Saver, thread, v.Number, trial, thread); err == nil && !v.Released.IsZero() {
			_, err = trial.Release(ctx, thread, v.Head)
		}
		if err != nil {
			return result, err
		}
	}
	keep.Ended = time.Time{}
	return trial.Prune(ctx, thread, keep)
}

// over reports whether a Retention with this Ended removes the whole thread with these versions.
// The last of them has the Number 0 if there are only messages, or if they follow a release.
func (o *Operator) over(ctx context.Context, versions []checkpoint.Version, ended time.Time) (bool, error) {
	if ended.IsZero() {
		return false, nil
	}
	last := versions[len(versions)-1]
	mail, err := o.Saver.Mail(ctx, checkpoint.MailQuery{Thread: last.Thread})
	keeps := func(m checkpoint.Message) bool { return m.Kind == checkpoint.InputMessage || !m.Posted.Before(ended) }
	if err != nil || slices.ContainsFunc(mail, keeps) {
		return false, err
	}
	finished := last.Number == 0 || !last.Released.IsZero() || last.Status == checkpoint.Done || last.Status == checkpoint.Cancelled
	if last.Number == 0 && len(versions) > 1 {
		last = versions[len(versions)-2]
	}
	if !finished || last.Number == 0 {
		return finished, nil
	}
	chain, err := o.Saver.Load(ctx, checkpoint.Ref{Thread: last.Thread, Version: last.Number, Namespace: checkpoint.NoCall})
	due := len(mail) == 0 && !chain.Thread.Wake.IsZero() // such as a child that has not reported its end
	return err == nil && !due && chain.Thread.Updated.Before(ended), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

func (a *app) verifyCommand() *cobra.Command {
	sel := selection{released: true}
	var progress bool
	cmd := &cobra.Command{
		Use:   "verify [THREAD ...]",
		Short: "Read everything, and check chains and bytes",
		Long: `Read all versions of threads, and check them: that the saver can read each byte, that ids and numbers of records are in
order, that each delta applies to the state before it, that each state, question and description can be read, and that the listing
agrees with the log. Without arguments, the command verifies all threads. The command changes nothing.

Workers and other runs can continue meanwhile. If a run commits while its thread is read, the listing of that thread is not
compared with the log. A thread that is deleted meanwhile is left out.

If there is a problem, the exit code is 5. If payloads are encrypted and their key is missing, their contents are not checked, and the
exit code is 1.`,
		Example: `  graphctl verify
  graphctl verify --prefix order- -o jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel.all, sel.tasks = len(args) == 0, true
			if len(args) > 0 && sel.narrow() {
				return sel.explicit(args)
			}
			return a.with(cmd, func(ctx context.Context, s checkpoint.Saver) error { return a.verify(ctx, s, args, &sel, progress) })
		},
	}
	sel.flags(cmd)
	progressFlag(cmd, &progress)
	return cmd
}

// problemJSON is one problem that verify found.
type problemJSON struct {
	Thread    string `json:"thread"`
	IDBytes   string `json:"thread_base64,omitempty"`
	Version   int    `json:"version,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Record    string `json:"record,omitempty"`
	Seq       uint64 `json:"seq,omitempty"`
	Problem   string `json:"problem"`
}

// problemsError is the error of a saver with problems. It is a checkpoint.ErrDamaged.
type problemsError struct{ found int }

func (e *problemsError) Error() string { return count(e.found, "problem", "problems") + " found" }

// Is reports whether target is ErrDamaged.
func (e *problemsError) Is(target error) bool { return target == checkpoint.ErrDamaged }

// verifier verifies threads, and prints each problem.
type verifier struct {
	a        *app
	s        checkpoint.Saver
	l        *list
	progress *progress
	found    int
}

func (a *app) verify(ctx context.Context, s checkpoint.Saver, args []string, sel *selection, forced bool) error {
	v := &verifier{a: a, s: s, progress: a.progress("verified", forced), l: a.list("THREAD", "VERSION", "NAMESPACE", "SEQ", "PROBLEM")}
	err := sel.each(ctx, a, s, args, func(id string) error {
		err := v.thread(ctx, id)
		v.progress.thread()
		if len(args) == 0 && errors.Is(err, checkpoint.ErrNotFound) {
			return nil // deleted after it was listed
		}
		return err
	})
	err = v.l.end("", err)
	fmt.Fprintln(a.err, v.progress.text("verified"))
	if v.found > 0 {
		err = errors.Join(err, &problemsError{v.found})
	}
	return err
}

// report prints a problem.
func (v *verifier) report(p *problemJSON) error {
	v.found++
	p.IDBytes = idBytes(p.Thread)
	return v.l.add(p, func() []string {
		seq := "-"
		if p.Seq > 0 {
			seq = strconv.FormatUint(p.Seq, 10)
		}
		return []string{quoteID(p.Thread), strconv.Itoa(p.Version), dash(cell(p.Namespace)), seq, cell(p.Problem)}
	})
}

// thread verifies all versions of a thread. It returns errors that are not about stored data.
func (v *verifier) thread(ctx context.Context, id string) error {
	versions, err := versionsOf(ctx, v.s, id, false)
	if err != nil {
		return v.damage(id, 0, err)
	}
	for _, version := range versions {
		err := v.version(ctx, version)
		if errors.Is(err, checkpoint.ErrNotFound) {
			err = v.missing(ctx, &version, err)
		}
		if err = v.damage(id, version.Number, err); err != nil {
			return err
		}
	}
	return nil
}

// missing reports a version that is listed and cannot be found. If the version is not listed any
// more, it was deleted meanwhile.
func (v *verifier) missing(ctx context.Context, version *checkpoint.Version, cause error) error {
	now, err := v.listed(ctx, version)
	if err != nil || now == nil {
		return err
	}
	return v.report(&problemJSON{Thread: version.Thread, Version: version.Number, Problem: "the version is listed, but: " + cause.Error()})
}

// listed returns what the saver lists now about a version; nil if it does not list the version.
func (v *verifier) listed(ctx context.Context, version *checkpoint.Version) (*checkpoint.Version, error) {
	all, err := versionsOf(ctx, v.s, version.Thread, false)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, nil
	}
	for i := range all {
		if all[i].Number == version.Number {
			return &all[i], err
		}
	}
	return nil, err
}

// damage reports an error that is ErrDamaged, and returns any other.
func (v *verifier) damage(id string, version int, err error) error {
	if errors.Is(err, checkpoint.ErrDamaged) {
		return v.report(&problemJSON{Thread: id, Version: version, Problem: err.Error()})
	}
	return err
}

func (v *verifier) version(ctx context.Context, version checkpoint.Version) error {
	v.progress.Versions++
	stored, err := v.s.Schemas(ctx, version.Thread, version.Number)
	if err != nil {
		return err
	}
	known := operate.ReadSchemas(stored)
	var reported error
	c := newChecker(known, func(p *problemJSON) {
		p.Thread, p.Version = version.Thread, version.Number
		reported = errors.Join(reported, v.report(p))
	})
	for fingerprint := range stored {
		if known[fingerprint] == nil {
			c.fault("", nil, "the description of schema %016x cannot be read", fingerprint)
		}
	}
	for item, err := range v.progress.counted(archive.Items(ctx, v.s, version)) {
		if err != nil {
			return err
		}
		if c.item(&item); reported != nil {
			return reported
		}
	}
	if c.end(); !c.agrees(&version) {
		now, err := v.listed(ctx, &version)
		if err != nil {
			return err
		}
		if now != nil && now.Head == version.Head && now.Records == version.Records {
			c.disagrees(&version) // no run has committed since
		}
	}
	return errors.Join(reported, c.locked)
}

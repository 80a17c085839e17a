package operate

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// Problem is one fault of stored data. Its names in JSON are stable.
type Problem struct {
	Thread    string `json:"thread"`
	Version   int    `json:"version,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Record    string `json:"record,omitempty"`
	Seq       uint64 `json:"seq,omitempty"`
	Problem   string `json:"problem"`
}

// Verify reads all versions of a thread, checks their chains and bytes, and reports each problem.
// An error of report ends it. It counts what it reads in totals. It returns errors that are not
// about stored data, a *LockedError if payloads could not be checked, and checkpoint.ErrNotFound
// if the thread does not exist. A run or a deletion meanwhile is no problem.
func (o *Operator) Verify(ctx context.Context, thread string, totals *Totals, report func(p *Problem) error) error {
	return (&verifier{o, totals, report}).all(ctx, thread)
}

// verifier verifies the versions of a thread.
type verifier struct {
	o      *Operator
	totals *Totals
	report func(p *Problem) error
}

// all verifies all versions of a thread. It returns errors that are not about stored data.
func (v *verifier) all(ctx context.Context, id string) error {
	versions, err := archive.Versions(ctx, v.o.Saver, id)
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
	return v.report(&Problem{Thread: version.Thread, Version: version.Number, Problem: "the version is listed, but: " + cause.Error()})
}

// listed returns what the saver lists now about a version; nil if it does not list the version.
func (v *verifier) listed(ctx context.Context, version *checkpoint.Version) (*checkpoint.Version, error) {
	all, err := archive.Versions(ctx, v.o.Saver, version.Thread)
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
		return v.report(&Problem{Thread: id, Version: version, Problem: err.Error()})
	}
	return err
}

func (v *verifier) version(ctx context.Context, version checkpoint.Version) error {
	v.totals.Versions++
	stored, err := v.o.Saver.Schemas(ctx, version.Thread, version.Number)
	if err != nil {
		return err
	}
	known := readSchemas(stored)
	var reported error
	c := newChecker(v.o, known, func(p *Problem) {
		p.Thread, p.Version = version.Thread, version.Number
		reported = errors.Join(reported, v.report(p))
	})
	for fingerprint := range stored {
		if known[fingerprint] == nil {
			c.fault("", nil, "the description of schema %016x cannot be read", fingerprint)
		}
	}
	for item, err := range v.totals.Items(archive.Items(ctx, v.o.Saver, version)) {
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

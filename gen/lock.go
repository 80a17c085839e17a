package gen

import (
	"context"
	"errors"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphgen-go/graphgen/gen/internal/lock"
)

// LockName is the name of a lock file. The lock file of a package is in its folder, and lists the
// names and types that threads may have stored.
const LockName = lock.Name

// Change is a difference between the sources of a package and its lock file.
type Change struct {
	Diagnostic
	Verdict Verdict
	Lock    string // the path of the lock file
}

// Verdict says whether stored threads survive a change.
type Verdict = lock.Verdict

// The verdicts.
const (
	Allowed = lock.Allowed // the new code reads all stored data
	Noted   = lock.Noted   // it does so on a condition, which the message names
	Refused = lock.Refused // it cannot read some data that threads may have stored
)

// Lock compares packages with their lock files. The files of the result are lock files only. They
// record all changes, also refused ones, which are in Changes and not in Diagnostics. Files of
// packages without a lock file are new. Lock fails like [Generate], and writes nothing either.
func Lock(ctx context.Context, cfg Config) (*Result, error) {
	cfg.lockOnly = true
	return Generate(ctx, cfg)
}

// locked compares the package with its lock file, and adds the new file to the result. A package
// without a lock file gets none, unless the run is for lock files.
func (src *source) locked(cfg Config, units []*unit, models []*model, marked marks, result *Result, diags *diagnostics) {
	path := filepath.Join(src.dir, LockName)
	content, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case src.test || missing && !cfg.lockOnly:
		return
	case err != nil && !missing:
		diags.add(token.Position{Filename: path}, "", "cannot be read: %v", err)
		return
	}
	old := lock.New()
	if !missing {
		var fault *lock.SyntaxError
		if old, err = lock.Parse(content); errors.As(err, &fault) {
			diags.add(token.Position{Filename: path, Line: fault.Line, Column: 1}, "", "%s", fault.Message)
			return
		}
	}
	models = append(slices.Clone(models), src.otherModels(cfg, units, marked, diags)...)
	if !diags.empty() {
		return
	}
	r := newResolver(src, marked, new(diagnostics))
	r.states = src.stateNames(units)
	now := src.describeLock(lockable(models), r)
	if missing && len(now.States)+len(now.Payloads)+len(now.Questions)+len(now.Signals) == 0 {
		return // the package has nothing to lock
	}
	next, changes := lock.Compare(old, now, src.declared)
	src.reportChanges(cfg, path, changes, result, diags)
	result.Files = append(result.Files, File{Path: path, Content: next.Text(), Lock: true})
}

// reportChanges adds changes to the result, and refused ones to the faults.
func (src *source) reportChanges(cfg Config, path string, changes []lock.Change, result *Result, diags *diagnostics) {
	for _, change := range changes {
		pos := change.At.Pos
		if pos.Filename == LockName || pos.Filename == "" {
			pos.Filename = path
		}
		if change.Verdict == Refused && !cfg.lockOnly {
			diags.add(pos, change.At.Subject, "%s", change.Text)
			continue
		}
		one := &diagnostics{dir: diags.dir}
		one.add(pos, change.At.Subject, "%s", change.Text)
		result.Changes = append(result.Changes, Change{Diagnostic: one.list[0], Verdict: change.Verdict, Lock: path})
	}
}

// lockable returns the models whose types are part of every build. A type with a build constraint
// can have other fields in another build, so that it is not locked.
func lockable(models []*model) []*model {
	return slices.DeleteFunc(models, func(m *model) bool { return m.build != "" })
}

// otherModels returns the models of the types that the package requests and this run does not
// generate.
func (src *source) otherModels(cfg Config, units []*unit, marked marks, diags *diagnostics) []*model {
	if len(cfg.Types) == 0 {
		return nil
	}
	var models []*model
	others := src.askedUnits(Config{Dir: cfg.Dir}, new(diagnostics))
	all := slices.Concat(units, others)
	for _, u := range others {
		u.types = slices.DeleteFunc(u.types, func(t unitType) bool { return slices.Contains(cfg.Types, t.name) })
		if len(u.types) > 0 {
			models = append(models, buildModel(src, u, all, marked, diags))
		}
	}
	return models
}

// declared reports whether the package has a type, question or signal that this run does not
// describe.
func (src *source) declared(kind, name string) bool {
	switch kind {
	case "state", "payload":
		obj, ok := src.pkg.Types.Scope().Lookup(name).(*types.TypeName)
		if ok && src.originOf(obj.Pos()).build == "" {
			return true
		}
	default:
		if slices.ContainsFunc(src.messages(), func(m message) bool { return m.verb == kind && m.name == name }) {
			return true
		}
	}
	return src.elsewhere(kind, name)
}

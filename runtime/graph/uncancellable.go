package graph

import "context"

// nodes returns the context of nodes and routes.
func (r *run) nodes() context.Context {
	if r.working != nil {
		return r.working
	}
	return r.ctx
}

// shield keeps the end of the run's context away from the nodes and routes of a superstep with an
// Uncancellable node. Their context then ends only if another run takes the thread. The returned
// function ends that.
func (r *run) shield() (over func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	stop := func() bool { return true }
	if lease := r.opt.lease; lease != nil {
		stop = context.AfterFunc(lease, func() { cancel(context.Cause(lease)) })
	}
	r.working = ctx
	return func() {
		stop()
		cancel(nil)
		r.working = nil
	}
}

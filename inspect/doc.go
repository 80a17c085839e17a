// Package inspect (experimental) serves web pages that show the threads of a saver and act on
// them.
//
//	pages, err := inspect.New(saver, inspect.Options{}, orders, refunds)
//	mux.Handle("/inspect/", http.StripPrefix("/inspect", pages))
//
// The pages list threads, and show each thread with its picture, state, history, timeline, open
// questions and messages. Every page also works without the graphs of the threads. A saver stores
// descriptions of states, and the pages read states and take answers, signals and inputs with
// them. The graphs add pictures, edits, replays and runs in this process.
//
// # Security
//
// By default the pages only show. Options.Allow lists the actions that they offer.
// Options.Authorize decides about each request, and about each thread of a list. Without
// Authorize, anybody who reaches the server can read every thread. Put the handler behind your
// own login.
//
// The pages load nothing from other servers. A Content-Security-Policy forbids other scripts,
// and requests from pages of other sites are refused. A server on a loopback address without
// Authorize answers only requests for a loopback host, so that other sites cannot read it by DNS
// rebinding. A server on another address does not know its names: it needs Authorize, or a proxy
// that checks the host and the login.
//
// # Addresses
//
// All addresses are relative, so a prefix of any length works. The prefix must end with a slash.
// ThreadURL and CheckpointURL return addresses that stay valid, for logs and spans.
package inspect

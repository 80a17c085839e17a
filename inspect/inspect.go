package inspect

import (
	"cmp"
	"crypto/cipher"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

//go:embed web
var web embed.FS

// App is a compiled graph: a *graph.Graph of any state.
type App interface {
	// Serves returns the names of the graphs whose threads in saver belong to the App.
	Serves(saver checkpoint.Saver) ([]string, error)
	// Describe returns the graph as data.
	Describe() *graph.Description
	// Untyped returns the operations of the graph on encoded data.
	Untyped() graph.Untyped
}

// Options are the settings of an Inspector. A zero field is its default.
type Options struct {
	// Allow lists the actions that the pages offer. By default they only show. AllActions returns
	// all actions.
	Allow []Action
	// Authorize decides about an action of a request: nil allows it. The page shows the text of an
	// error. It is called for each request, and for each thread of a list. An action on a thread
	// also needs View. The labels of a damaged thread are unknown. Authorize must be safe for
	// concurrent use. The default allows all actions of Allow to everybody.
	//
	// If Authorize refuses View of a thread, the page answers as if the thread did not exist: with
	// status 404. A reader who must not see any thread gets the text of the error instead. For
	// that, Authorize is asked about View without a Thread.
	//
	// An action on many threads continues after its request has ended. Authorize then gets a copy
	// of the request that confirmed the action. The copy has its header, its form and the values
	// of its context, and no body. Rights that the user loses later end the action only if
	// Authorize looks them up.
	Authorize func(r *http.Request, a Access) error
	// Actor returns the name of the user of a request. It is stored as metadata, under "actor",
	// with edits and inputs. With Authorize, only the same name can see and stop an action on
	// many threads that it began. Without Actor, everybody who has the address of its page can.
	// The default is no name.
	Actor func(r *http.Request) string
	// Explain returns why a payload cannot be read, for example the key that it is encrypted with
	// and how to pass that key. It returns nil for a payload that can be read. It is for a saver
	// that returns encrypted payloads as they are. The pages show the error in place of the data,
	// and answer no question of such a thread. Explain must not modify the payload, and must be
	// safe for concurrent use. By default, every payload can be read.
	Explain func(payload []byte) error
	// LongWait is that of operate.Operator: how long a thread waits for a person, a signal or a
	// child before lists mark it as stuck. The default is 7 days.
	LongWait time.Duration
	// MaxBody is the largest request that is read, in bytes. The default is 4 MiB.
	MaxBody int64
	// MaxDownload is the size of an archive, in bytes, at which a download of a thread ends. The
	// archive is then marked as incomplete. The default is 1 GiB.
	MaxDownload int64
	// Log gets the errors of runs that the pages start, and those of downloads. The page of a
	// thread shows the last error of a run, too. The default logs nothing.
	Log *slog.Logger
	// Title is the name of the site in the head of the pages. The default is "graphgen".
	Title string
}

// Inspector is the http.Handler of the pages. New makes it. It is safe for concurrent use.
type Inspector struct {
	saver   checkpoint.Saver
	ops     operate.Operator
	opt     Options
	names   []string // of the graphs, in the order of the apps
	apps    map[string]App
	allowed map[Action]bool
	pages   *template.Template
	handler http.Handler
	jobs    jobs
	runs    runs
	key     cipher.AEAD // of addresses that must not show their thread
}

// New returns the pages of the threads of saver. Threads of graphs without an App are shown
// without a picture, and cannot be edited or resumed in this process. Their answers, signals and
// inputs are checked against the descriptions that threads store. The saver and the graphs belong
// to the caller: close them after the Inspector.
//
// New returns an error if an App stores its threads in another saver, or if two of them serve the
// same threads. It also returns an error for a wrong option.
func New(saver checkpoint.Saver, o Options, apps ...App) (*Inspector, error) {
	if saver == nil {
		return nil, errors.New("inspect: New: the saver is nil; give it the saver of the graphs")
	}
	in := &Inspector{saver: saver, opt: o, apps: make(map[string]App), allowed: map[Action]bool{View: true, Download: true}}
	in.ops = operate.Operator{Saver: saver, Graphs: make(map[string]graph.Untyped), Explain: o.Explain, LongWait: o.LongWait}
	in.opt.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	in.opt.MaxDownload = cmp.Or(o.MaxDownload, 1<<30)
	in.opt.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	in.opt.Title = cmp.Or(o.Title, "graphgen")
	if in.opt.LongWait < 0 || in.opt.MaxBody < 0 || in.opt.MaxDownload < 0 {
		return nil, errors.New("inspect: New: LongWait, MaxBody or MaxDownload is negative; give 0 for the default")
	}
	known := AllActions()
	for _, a := range o.Allow {
		if !slices.Contains(known, a) {
			return nil, fmt.Errorf("inspect: New: Allow lists %q, which is no action; use the constants of type Action", a)
		}
		in.allowed[a] = true
	}
	for i, app := range apps {
		if app == nil {
			return nil, fmt.Errorf("inspect: New: graph %d is nil; leave it out", i)
		}
		names, err := app.Serves(saver)
		if err != nil {
			return nil, fmt.Errorf("inspect: New: %w", err)
		}
		for _, name := range names {
			if in.apps[name] != nil {
				return nil, fmt.Errorf("inspect: New: two graphs serve the threads of %q; leave one out", name)
			}
			in.apps[name], in.ops.Graphs[name] = app, app.Untyped()
		}
		in.names = append(in.names, names[0])
	}
	var err error
	if in.pages, err = parsePages(); err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	if in.key, err = newKey(); err != nil {
		return nil, err
	}
	in.jobs.open()
	in.handler = in.guard(in.routes())
	return in, nil
}

// ServeHTTP implements http.Handler.
func (in *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) { in.handler.ServeHTTP(w, r) }

// Close stops the actions on many threads that are in progress, and waits for them. Runs that the
// pages have resumed belong to their graphs: call Drain of each graph.
func (in *Inspector) Close() { in.jobs.close() }

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	page := func(pattern string, serve func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				in.fail(w, r, err)
			}
		})
	}
	page("GET /{$}", in.listPage)
	page("GET /fleet", in.fleetPage)
	page("GET /thread", in.threadPage)
	page("GET /checkpoint", in.checkpointPage)
	page("GET /history", in.historyPage)
	page("GET /result", in.resultPage)
	page("GET /compare", in.comparePage)
	page("GET /state.json", in.stateJSON)
	page("GET /download", in.download)
	page("GET /picture.svg", in.picture)
	page("GET /pulse", in.pulse)
	page("GET /edit", in.editPage)
	page("GET /submit", in.submitPage)
	page("GET /bulk", in.bulkPage)
	page("GET /job", in.jobPage)
	page("POST /act", in.act)
	page("POST /fleet", in.actOnFleet)
	page("POST /edit", in.edit)
	page("POST /submit", in.submit)
	page("POST /bulk", in.startBulk)
	page("POST /job", in.stopJob)
	for _, name := range []string{"style.css", "page.js"} {
		page("GET /"+name, func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Cache-Control", "max-age=3600")
			http.ServeFileFS(w, r, web, "web/"+name)
			return nil
		})
	}
	return mux
}

// ThreadURL returns the address of the page of a thread. base is where the Inspector is served,
// such as "https://ops.example.com/inspect/". The address stays valid as long as the thread
// exists.
func ThreadURL(base, thread string) string {
	return strings.TrimSuffix(base, "/") + "/thread?" + url.Values{"id": {thread}}.Encode()
}

// CheckpointURL returns the address of the page of a checkpoint, as ThreadURL does. The address
// stays valid as long as the checkpoint exists, also after the version of the thread was released.
func CheckpointURL(base, thread string, id checkpoint.ID) string {
	return strings.TrimSuffix(base, "/") + "/checkpoint?" + url.Values{"id": {thread}, "at": {id.String()}}.Encode()
}

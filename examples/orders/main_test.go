package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
)

// TestMain makes the test binary act as the service, so that tests can kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"orders": main})
}

// replica is a process of the service.
type replica struct {
	t   *testing.T
	url string
	cmd *exec.Cmd
}

// start starts a replica.
func start(t *testing.T, store, partners string, args ...string) *replica {
	t.Helper()
	args = append([]string{"-addr", "127.0.0.1:0", "-store", store, "-partners", partners, "-lease", "1s"}, args...)
	cmd := exec.CommandContext(t.Context(), "orders", args...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the service did not say where it listens: %v", err)
	}
	return &replica{t: t, url: strings.TrimSpace(strings.TrimPrefix(first, "orders: ")), cmd: cmd}
}

// kill kills the replica with SIGKILL.
func (r *replica) kill() {
	r.t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err == nil {
		r.t.Fatal("the killed process ended well")
	}
}

// send sends a request, and returns the status and the body of the reply.
func (r *replica) send(method, path, body string) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, bytes.TrimSpace(raw)
}

// want sends a request that must have a certain status.
func (r *replica) want(status int, method, path, body string) []byte {
	r.t.Helper()
	got, raw := r.send(method, path, body)
	if got != status {
		r.t.Fatalf("%s %s: got %d %s, want %d", method, path, got, raw, status)
	}
	return raw
}

// until reads an order until it has a status.
func (r *replica) until(id, status string) (v view) {
	r.t.Helper()
	path := "/orders/" + id
	if status == "done" {
		path += "?wait"
	}
	for v.Status != status {
		<-time.After(10 * time.Millisecond)
		code, raw := r.send(http.MethodGet, path, "")
		if code == http.StatusNotFound {
			continue // no worker has begun it
		}
		if err := json.Unmarshal(raw, &v); code != http.StatusOK || err != nil {
			r.t.Fatalf("order %s: got %d %s, %v", id, code, raw, err)
		}
	}
	return v
}

func storeIn(dir string) string { return "sqlite://" + dir + "/orders.db" }

// done compares what the partners did for an order.
func done(t *testing.T, p *partners.Partners, id string, want map[string]partners.Deeds) {
	t.Helper()
	if diff := cmp.Diff(want, p.Order(id), cmpopts.IgnoreUnexported(partners.Deeds{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("order %s at the partners: -want +got\n%s", id, diff)
	}
}

const tea = `{"item": "tea", "quantity": 2, "cents": 700}`

func TestEachOrderEndsInItsWay(t *testing.T) {
	t.Parallel()
	world := new(partners.Partners)
	p := httptest.NewServer(world)
	defer p.Close()
	r := start(t, storeIn(t.TempDir()), p.URL)
	kept, none, undone := partners.Deeds{Done: 1}, partners.Deeds{}, partners.Deeds{Done: 1, Undone: 1}
	cases := []struct {
		id, item, card string
		outcome        Outcome
		log            string
		deeds          map[string]partners.Deeds
	}{
		{"paid", "tea", "4000", Shipped, "the parcel is with the carrier", map[string]partners.Deeds{"stock": kept, "charges": kept, "parcels": kept, "pickups": kept}},
		{"early", "tea", "4000", Shipped, "the parcel is with the carrier", map[string]partners.Deeds{"stock": kept, "charges": kept, "parcels": kept, "pickups": kept}},
		{"stolen", "tea", "stolen", Refused, "the bank refuses the card", map[string]partners.Deeds{"stock": undone, "charges": none}},
		{"unicorn", "unicorn", "", Refused, "there are no unicorns in stock", map[string]partners.Deeds{"stock": none, "charges": none}},
		{"anvil", "anvil", "4000", Refused, "the carrier takes no anvils", map[string]partners.Deeds{"stock": undone, "charges": undone, "parcels": none}},
		{"cancelled", "tea", "", Cancelled, "the customer has cancelled", map[string]partners.Deeds{"stock": undone, "charges": none, "parcels": none}},
	}
	r.want(http.StatusAccepted, http.MethodPost, "/orders/early/payment", `{"card": "4000"}`) // before the order
	for _, c := range cases {
		order := fmt.Sprintf(`{"item": %q, "quantity": 1, "cents": 100}`, c.item)
		r.want(http.StatusAccepted, http.MethodPut, "/orders/"+c.id, order)
		r.want(http.StatusAccepted, http.MethodPut, "/orders/"+c.id, order) // it is one order
	}
	for _, c := range cases {
		if c.item == "unicorn" || c.id == "early" {
			continue
		}
		if v := r.until(c.id, "waiting"); v.PayBy.IsZero() {
			t.Errorf("order %s waits without a deadline", c.id)
		}
		if c.outcome == Cancelled {
			r.want(http.StatusAccepted, http.MethodDelete, "/orders/"+c.id, "")
		} else {
			r.want(http.StatusAccepted, http.MethodPost, "/orders/"+c.id+"/payment", fmt.Sprintf(`{"card": %q}`, c.card))
		}
	}
	for _, c := range cases {
		v := r.until(c.id, "done")
		if v.Outcome != c.outcome || !slices.Contains(v.Log, c.log) {
			t.Errorf("order %s: got %s with the log %q, want %s with %q", c.id, v.Outcome, v.Log, c.outcome, c.log)
		}
		done(t, world, c.id, c.deeds)
	}
	r.want(http.StatusAccepted, http.MethodDelete, "/orders/paid", "") // too late
	if v := r.until("paid", "done"); v.Outcome != Shipped {
		t.Errorf("a shipped order that is cancelled: got %s, want it shipped", v.Outcome)
	}
	var tea []string
	if err := json.Unmarshal(r.want(http.StatusOK, http.MethodGet, "/orders?item=tea", ""), &tea); err != nil {
		t.Fatal(err)
	}
	slices.Sort(tea)
	if want := []string{"cancelled", "early", "paid", "stolen"}; !slices.Equal(tea, want) {
		t.Errorf("the orders for tea: got %q, want %q", tea, want)
	}
	r.want(http.StatusOK, http.MethodGet, "/orders?after=paid", "")
	r.want(http.StatusNotFound, http.MethodGet, "/orders?after=unknown", "")
	r.want(http.StatusNotFound, http.MethodGet, "/orders/unknown", "")
	r.want(http.StatusBadRequest, http.MethodPut, "/orders/nothing", `{}`)
	r.want(http.StatusOK, http.MethodGet, "/readyz", "")
}

func TestAnUnpaidOrderExpires(t *testing.T) {
	t.Parallel()
	world := new(partners.Partners)
	p := httptest.NewServer(world)
	defer p.Close()
	r := start(t, storeIn(t.TempDir()), p.URL, "-pay-within", "1ms")
	r.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	if v := r.until("a", "done"); v.Outcome != Expired {
		t.Errorf("got %s with the log %q, want it expired", v.Outcome, v.Log)
	}
	done(t, world, "a", map[string]partners.Deeds{"stock": {Done: 1, Undone: 1}, "charges": {}})
}

// gate lets a test stop the requests to a partner.
type gate struct {
	http.Handler
	path    string        // of the requests that it stops
	arrived chan string   // the keys of those requests
	pass    chan struct{} // closed to let them pass
}

func newGate(h http.Handler, path string) *gate {
	return &gate{Handler: h, path: path, arrived: make(chan string, 10), pass: make(chan struct{})}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == g.path {
		g.arrived <- r.Header.Get("Idempotency-Key")
		<-g.pass
	}
	g.Handler.ServeHTTP(w, r)
}

// A replica is killed while it charges a card. Another one continues the order, and repeats the
// request with the same key.
func TestAnOrderOutlivesItsReplica(t *testing.T) {
	t.Parallel()
	world := new(partners.Partners)
	g := newGate(world, "/charges/a")
	p := httptest.NewServer(g)
	defer p.Close()
	store := storeIn(t.TempDir())
	first := start(t, store, p.URL)
	first.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	first.until("a", "waiting")
	first.want(http.StatusAccepted, http.MethodPost, "/orders/a/payment", `{"card": "4000"}`)
	key := <-g.arrived
	first.kill()

	second := start(t, store, p.URL)
	again := <-g.arrived
	close(g.pass)
	if v := second.until("a", "done"); v.Outcome != Shipped {
		t.Errorf("got %s with the log %q, want it shipped", v.Outcome, v.Log)
	}
	if again != key {
		t.Errorf("the second replica charged with the key %q, the first with %q; want the same", again, key)
	}
	done(t, world, "a", map[string]partners.Deeds{"stock": {Done: 1}, "charges": {Done: 1}, "parcels": {Done: 1}, "pickups": {Done: 1}})
}

// The pool packs the parcel of an order that a replica without a pool works on. A process of the
// pool is killed meanwhile. Another one repeats the request with the same key.
func TestAPoolPacksTheParcels(t *testing.T) {
	if testing.Short() {
		t.Skip("the parcel of a dead process waits for 5 seconds")
	}
	t.Parallel()
	world := new(partners.Partners)
	g := newGate(world, "/parcels/a")
	p := httptest.NewServer(g)
	defer p.Close()
	store := storeIn(t.TempDir())
	r := start(t, store, p.URL, "-pool", "0")
	r.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	r.want(http.StatusAccepted, http.MethodPost, "/orders/a/payment", `{"card": "4000"}`)
	first := start(t, store, p.URL, "-pool-only")
	key := <-g.arrived
	first.kill()
	start(t, store, p.URL, "-pool-only")
	again := <-g.arrived
	close(g.pass)
	if v := r.until("a", "done"); v.Outcome != Shipped {
		t.Errorf("got %s with the log %q, want it shipped", v.Outcome, v.Log)
	}
	if again != key {
		t.Errorf("the second process shipped with the key %q, the first with %q; want the same", again, key)
	}
	done(t, world, "a", map[string]partners.Deeds{"stock": {Done: 1}, "charges": {Done: 1}, "parcels": {Done: 1}, "pickups": {Done: 1}})
}

// A cancel reaches the order in another replica, and undoes what its run has begun.
func TestACancelStopsAnOrderInAnotherReplica(t *testing.T) {
	t.Parallel()
	world := new(partners.Partners)
	g := newGate(world, "/charges/a")
	p := httptest.NewServer(g)
	defer p.Close()
	store := storeIn(t.TempDir())
	first := start(t, store, p.URL)
	first.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	first.until("a", "waiting")
	first.want(http.StatusAccepted, http.MethodPost, "/orders/a/payment", `{"card": "4000"}`)
	<-g.arrived
	second := start(t, store, p.URL)
	second.want(http.StatusAccepted, http.MethodDelete, "/orders/a", "")
	<-g.arrived // the refund
	close(g.pass)
	if v := second.until("a", "done"); v.Outcome != Cancelled {
		t.Errorf("got %s with the log %q, want it cancelled", v.Outcome, v.Log)
	}
	stock, charges, parcels := world.Order("a")["stock"], world.Order("a")["charges"], world.Order("a")["parcels"]
	if stock.Done != 1 || stock.Undone != 1 || charges.Done != charges.Undone || parcels.Done != 0 {
		t.Errorf("got stock %+v, charges %+v and parcels %+v, want everything undone", stock, charges, parcels)
	}
}

// A replica that is stopped ends well, and leaves its orders to the others.
func TestAStoppedReplicaLeavesItsOrdersToOthers(t *testing.T) {
	t.Parallel()
	world := new(partners.Partners)
	g := newGate(world, "/stock/a")
	p := httptest.NewServer(g)
	defer p.Close()
	store := storeIn(t.TempDir())
	first := start(t, store, p.URL)
	first.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	<-g.arrived
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(g.pass) // the shutdown waits for the request
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("a stopped replica: %v", err)
	}
	second := start(t, store, p.URL)
	second.until("a", "waiting")
	second.want(http.StatusAccepted, http.MethodPost, "/orders/a/payment", `{"card": "4000"}`)
	second.until("a", "done")
	if again := world.Repeated(); len(again) > 0 {
		t.Errorf("requests were repeated: %v", again)
	}
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("an interrupted replica: %v", err)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"-nope"}, {"here"}, {"-pool", "-1"}, {"-pool-only", "-pool", "0"}} {
		var stderr strings.Builder
		if code := command(t.Context(), args, t.Output(), &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%q: got code %d and %q, want 2 and why", args, code, stderr.String())
		}
	}
	for _, args := range [][]string{{"-addr", "nowhere:x", "-store", "memory:"}, {"-store", "orders.db"}} {
		var stderr strings.Builder
		if code := command(t.Context(), args, t.Output(), &stderr); code != 1 || !strings.HasPrefix(stderr.String(), "orders: ") {
			t.Errorf("%q: got code %d and %q, want 1 and why", args, code, stderr.String())
		}
	}
}

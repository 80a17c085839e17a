# Everything here needs Go and make only; what else a target wants, it fetches through the go command.
# `make` alone prints this list.

.DEFAULT_GOAL := help
SHELL := /bin/sh

# A checkout owned by another user must not stop a build: the version control stamp is not needed.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

# The go command's ... skips testdata, so the packages there are named.
PACKAGES := ./... ./testdata/golden/...

# The modules in folders of this one, and those of them that have generated code. A new one needs no line here. The peers
# of bench are not ours, and tools has no code.
MODULES := $(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod' ':!tools' ':!bench/peers' ':!*/testdata/*'))
GENERATED := $(patsubst %/go.mod,%,$(shell git grep -l 'graphgen/cmd/graphgen' -- $(MODULES:%=%/go.mod)))

# make test-all has the race detector, which needs a C compiler: RACE= tests without it. TESTFLAGS=-short leaves out the tests
# that need servers. PKG= names the packages of make test-times and make stress.
RACE ?= -race
TESTFLAGS ?=
GOTEST ?= go test
PKG ?=

# SQLite is C code that was translated to Go. It keeps databases outside the memory of Go, which the race detector does
# not watch. With the checks of the detector it takes four times as long. Its driver and all other packages have them.
UNWATCHED := $(if $(RACE),$(foreach p,modernc.org/sqlite/lib modernc.org/libc modernc.org/memory,-gcflags=$p=-race=false))

# Only make servers and CI install what tests need.
NEEDED := if [ -n "$$CI" ]; then internal/testenv/install.sh; else internal/testenv/install.sh -check; fi

# Packages that start no goroutines: the race detector finds next to nothing in them, and their tests take several
# times as long with it. Their tests of concurrent callers, which are named Concurrently or Together, have it.
SEQUENTIAL := ./gen/... ./cmd/graphgen ./shape/... ./runtime/wire/... ./runtime/diagram ./site ./testdata/golden/...

TOOL := go tool -modfile=tools/go.mod

# A test binary and its children wait at their end for races, a second by default: many children of tests end.
export GORACE ?= atexit_sleep_ms=50

.PHONY: help
help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Generate, build and run the ticket triage example, in DIR= or an empty temporary folder
	@go generate ./examples/triage
	@go build -o bin/triage ./examples/triage
	@dir="$(DIR)"; [ -n "$$dir" ] || dir=$$(mktemp -d); bin/triage run -dir "$$dir" -latency 100ms

.PHONY: generate
generate: ## Write all generated code again
	@go generate ./...
	@go run ./cmd/graphgen ./testdata/golden/...
	@for mod in $(GENERATED); do go -C $$mod generate ./... || exit 1; done

# Tests load or build these packages through the go command. They are compiled first, because two go commands that need the same
# package at the same time both compile it.
LOADED := ./testdata/golden/... ./examples/approval ./docs/example ./docs/tutorial/... ./gen/vet/testdata/graphwrite ./gen/vet/testdata/graphkeep

.PHONY: test
test: ## Run the tests that need only Go, in a few minutes
	@go list -export $(LOADED) >/dev/null
	$(GOTEST) -short -vet=off -timeout 10m $(PACKAGES)
	@echo "make test: left out: servers, the browser, the race detector, long storms, and the modules $(filter-out bench,$(MODULES)): make test-all"

# Packages with servers wait for them much of the time, so three run at once.
.PHONY: test-all
test-all: ## Run every test, on real servers, in a browser and under the race detector
	@if [ "$(RACE)" = -race ] && [ "$$(go env CGO_ENABLED)" != 1 ]; then \
		echo "make test-all: the race detector needs a C compiler: install gcc, or test without it: make test-all RACE=" >&2; exit 1; fi
	@case " $(TESTFLAGS) " in *" -short "*) ;; *) $(NEEDED);; esac
	@failed=; tags=$$(internal/testenv/install.sh -browser); set -x; \
	$(GOTEST) $$tags -vet=off -timeout 30m $(TESTFLAGS) $(SEQUENTIAL) || failed=1; \
	$(GOTEST) $(RACE) -run 'Concurrently|Together' -vet=off $(TESTFLAGS) ./gen/... || failed=1; \
	$(GOTEST) -p 3 $(RACE) $(UNWATCHED) $$tags -vet=off -timeout 30m $(TESTFLAGS) $$(go list $(PACKAGES) | grep -vxF "$$(go list $(SEQUENTIAL))") || failed=1; \
	case " $(TESTFLAGS) " in *" -short "*) ;; *) $(GOTEST) $(SIMULATED) -run AFleetInOneProcess ./savers/internal/simulation || failed=1;; esac; \
	for mod in $(filter-out bench,$(MODULES)); do (cd $$mod && $(GOTEST) $(RACE) $(UNWATCHED) $$tags -vet=off -timeout 30m $(TESTFLAGS) ./...) || failed=1; done; \
	[ -z "$$failed" ]

.PHONY: servers
servers: ## Install what make test-all needs besides Go; it prints the packages first
	@internal/testenv/install.sh

.PHONY: test-times
test-times: ## Print where the time of the tests goes: seconds of processor time and of waiting, by package and test; PKG= TESTFLAGS=
	@go build -o bin/testtimes ./internal/testtimes
	@bin/testtimes $(RACE) $(UNWATCHED) -vet=off -timeout 30m $(TESTFLAGS) $(or $(PKG),$(PACKAGES))

# Which part of make stress this is: SHARD=2/4 is the second of four parts.
SHARD ?= 1/1

.PHONY: stress
stress: ## Run the tests three times alongside 20 busy processes; PKG=./runtime/graph for one package, SHARD=1/4 for a part
	@.ci/stress $(SHARD) $(PKG)

.PHONY: check check-format check-generated check-modules check-vet check-cross check-lint check-plugin check-api check-workflows check-prose check-site
check: check-format check-generated check-modules check-vet check-cross check-lint check-plugin check-api check-workflows check-prose check-site ## Check format, generated code, modules, vet, linters, API, prose and site

check-format:
	@bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "gofmt would change:" >&2; echo "$$bad" >&2; exit 1; }
	@git ls-files '*.go' ':!testdata/bad' | xargs awk ' \
		FNR == 1 { generated = /^\/\/ Code generated/ } \
		{ line = $$0; gsub(/\t/, "    ", line) } \
		/^\t*\/\/ / && length(line) > 99 && !generated { print FILENAME ":" FNR ": this comment does not end before column 100"; bad = 1 } \
		END { exit bad }' >&2

check-generated:
	go run ./cmd/graphgen -check ./...
	go run ./cmd/graphgen -check ./testdata/golden/...
	@set -x; for mod in $(GENERATED); do go -C $$mod tool graphgen -check ./... || exit 1; done

check-modules:
	@large=$$(git ls-files | xargs sh -c 'find "$$@" -size +1M' sh); \
		[ -z "$$large" ] || { echo "larger than 1 MB; a built program does not belong in the repository:" >&2; echo "$$large" >&2; exit 1; }
	@for mod in $$(git ls-files '*go.mod' ':!*/testdata/*'); do \
		go -C $$(dirname $$mod) mod tidy -diff || { echo "$$mod is not tidy; run go mod tidy in its folder" >&2; exit 1; }; \
	done

# check-lint runs the analyzers of go vet.
check-vet:
	go build -o bin/graphgen ./cmd/graphgen
	bin/graphgen vet $(PACKAGES)
	@set -x; for mod in $(MODULES); do go -C $$mod vet -vettool=$(CURDIR)/bin/graphgen ./... || exit 1; done

# All code for the systems that no test runs on here.
check-cross:
	@go build -o bin/crosscheck ./internal/crosscheck
	@set -x; for os in windows darwin; do GOOS=$$os bin/crosscheck $(PACKAGES) || exit 1; \
	for mod in $(filter-out bench,$(MODULES)); do (cd $$mod && GOOS=$$os $(CURDIR)/bin/crosscheck ./...) || exit 1; done; done

# golangci-lint contains staticcheck and the analyzers of go vet; .golangci.yml enables them. Each module has a run of its own:
# one run over a workspace of all takes a quarter less, but with versions of dependencies that no module has.
check-lint:
	$(TOOL) golangci-lint run $(PACKAGES)
	@set -x; for mod in $(MODULES); do (cd $$mod && go tool -modfile=$(CURDIR)/tools/go.mod golangci-lint run) || exit 1; done

# It builds golangci-lint with the plugin. After check-lint, most of the packages are in the build cache.
check-plugin:
	go -C gen/vet/golangci test -tags golangci -run InGolangciLint -count=1 -timeout 30m .

# It says so if there is no release to compare with.
check-api:
	@.ci/check-api

# It is not in the module tools, because it does not compile with the version of a package that golangci-lint needs.
check-workflows:
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# The rules are in .vale; .vale.ini lists the files. Vale needs a C compiler to build.
check-prose:
	$(TOOL) vale --output=line .

check-site: site

.PHONY: site
site: ## Build the site of the documentation in site/public; it needs npm for the diagrams
	@site/build.sh

.PHONY: vulnerabilities
vulnerabilities: ## Look for calls of functions with known vulnerabilities
	$(TOOL) govulncheck $(PACKAGES)

.PHONY: fixtures
fixtures: ## Store the threads of testdata/upgrade with today's code, for VERSION=v0.1.0; part of a release
	@case "$(VERSION)" in v*) ;; *) echo "make fixtures: name the release: make fixtures VERSION=v0.1.0" >&2; exit 1;; esac
	@$(NEEDED)
	go test ./internal/fixtures -run '^TestWrite$$' -count=1 -version '$(VERSION)'

# The systems for which make release-rehearsal builds files.
PLATFORMS ?= linux/amd64

.PHONY: release-rehearsal
release-rehearsal: ## Make the release VERSION=v0.1.0 in a clone, publish it to a folder and install it from there; PLATFORMS=
	@case "$(VERSION)" in v*) ;; *) echo "make release-rehearsal: name the release: make release-rehearsal VERSION=v0.1.0" >&2; exit 1;; esac
	@PLATFORMS='$(PLATFORMS)' .ci/rehearse-release '$(VERSION)'

# How long make soak goes on, in all.
SOAK ?= 10m

.PHONY: soak
soak: ## Break servers, disks, processes and connections under running graphs, for SOAK=10m
	@$(NEEDED)
	GRAPHGEN_SOAK=$(SOAK) go test -run Soak -count=1 -timeout 120m -v ./savers/internal/proof
	GRAPHGEN_SOAK=$(SOAK) go test -run Killed -count=1 -timeout 120m -v ./runtime/worker/internal/fleet
	GRAPHGEN_SOAK=$(SOAK) go test -run ManySendsOverSeveralWorkers -count=1 -timeout 120m -v ./runtime/graph
	cd agent && GRAPHGEN_SOAK=$(SOAK) go test -run Storm -count=1 -timeout 120m -v ./agenttest
	for mod in openai anthropic gemini; do (cd agent/$$mod && GRAPHGEN_SOAK=$(SOAK) go test -run /Storm -count=1 -timeout 120m -v .) || exit 1; done
	GRAPHGEN_SOAK=$(SOAK) go test $(SIMULATED) -count=1 -timeout 180m -v ./savers/internal/simulation
	GRAPHGEN_SOAK=$(SOAK) go test -run ReadyReadsFewRows -count=1 -timeout 120m -v ./savers/postgres ./savers/mysql

# The seeds of make simulate: how many, and the first one. One seed prints its events.
SEEDS ?= 50
SEED ?= 1
SIMULATED = -vet=off -tags deterministic -overlay "$$(go run ./internal/simruntime)"

.PHONY: simulate
simulate: ## Run fleets of workers in one process, in virtual time: SEEDS=50 from SEED=1
	go test $(SIMULATED) -run AFleetInOneProcess -count=1 -timeout 60m ./savers/internal/simulation -seed=$(SEED) -seeds=$(SEEDS)

# The fleet of make fleet: how many orders, and the URL of a database. Empty is SQLite in a temporary folder. ROLLOUT=1 rolls
# out new releases meanwhile.
ORDERS ?= 1000
STORE ?=

.PHONY: fleet
fleet: ## Kill replicas of the order service under load, and check that each of ORDERS=1000 ends once; STORE=url ROLLOUT=1
	@go run ./examples/orders/fleet -orders $(ORDERS) $(if $(STORE),-store '$(STORE)') $(if $(ROLLOUT),-rollout)

# Where make pictures puts its files, and how many threads its list has.
DIR_PICTURES = $(or $(DIR),bin/pictures)
THREADS ?= 111000

.PHONY: pictures
pictures: ## Draw the pages of inspect in a browser, wide, on a phone and dark: DIR=bin/pictures THREADS=111000
	@mkdir -p '$(DIR_PICTURES)'
	GRAPHGEN_SCREENSHOTS='$(abspath $(DIR_PICTURES))' GRAPHGEN_THREADS=$(THREADS) go test -tags browser -vet=off -count=1 -timeout 20m \
		-run 'TestPagesHaveTheirLayout|TestStuckOrdersAreFoundAmongMany' ./inspect/internal/pages

# How long make fuzz runs each fuzzer: a time, or a number of inputs such as 1000x.
FUZZTIME ?= 10s

.PHONY: fuzz
fuzz: ## Run every fuzzer, one after the other, each for FUZZTIME=10s
	@.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## Measure speed and each baseline; docs/measurements.md explains
	@$(NEEDED)
	@go -C bench run ./report
	@go -C bench test ./savers -run '^$$' -bench . -benchtime 20x
	@go test ./engines/enginetest ./savers/postgres ./savers/redis -run '^$$' -bench 'Hub|Engine' -benchtime 1000x
	@go -C engines/nats test -run '^$$' -bench . -benchtime 1000x
	@go -C engines/temporal test -run '^$$' -bench . -benchtime 100x
	@go -C graphotel test -run '^$$' -bench .
	@go test ./engines/enginetest -run '^$$' -bench Polling -benchtime 20x

.PHONY: bench-large
bench-large: ## Measure stores of 1,000,000 items on SQLite and PostgreSQL; takes minutes
	@$(NEEDED)
	@go -C bench test ./savers -run '^$$' -bench 'Store(Text)?/(sqlite|postgres)' -benchtime 20x -timeout 1h -items 1000000

.PHONY: peers
peers: ## Run the same graphs in other frameworks; bench/peers/README.md explains
	@go -C bench run ./peers

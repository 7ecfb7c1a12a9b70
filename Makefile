# Needs Go and make. gcc with libc6-dev adds the race detector to the tests.
# Tools run at a fixed version of their own, so go.mod stays the product's.
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0

# Published data that cannot be kept in the repository lies beside it.
OPENB ?= ../shared/traces/openb

# Modules apart from the product's: tests with heavy dependencies of their own.
NESTED = $(patsubst %/go.mod,%,$(wildcard test/*/go.mod))

# -race where a C compiler and the C library's headers are there, else nothing.
RACE = $(shell go build -race runtime/cgo 2>/dev/null && echo -race)

FUZZTIME ?= 10s
FUZZ     ?= Fuzz

.PHONY: help build demo test test-all unit nested fuzz bench bench-model openb lint clean

help: ## what can be made (this list)
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the poise binary, bin/poise
	go build -trimpath -o bin/poise ./cmd/poise

demo: build ## a mixed fleet and two tenants: what was decided and why
	bin/poise sim run --nodes examples/fleets/mixed.yaml --jobs examples/jobs/two-tenants.yaml --mode replay --why train-multi-0

test: unit nested lint ## every check of a change: tests with the race detector, nested modules, lint

test-all: test fuzz openb ## the same, then every fuzz target and the published experiment

unit: ## the product's tests, with the race detector where gcc is there
	@race='$(RACE)'; \
	[ -n "$$race" ] || echo 'no race detector: it needs gcc and the C headers (Debian: apt-get install gcc libc6-dev)'; \
	[ -d ../shared/golden ] || echo 'no ../shared/golden: the tests that compare with published results skip'; \
	set -x; go test $$race -timeout 30m ./...

nested: ## the tests in modules of their own under test/
	@set -e; for m in $(NESTED); do (set -x; cd $$m && go test ./...); done

fuzz: ## each fuzz target for FUZZTIME (10s); one of them: make fuzz FUZZ=FuzzParse
	@set -e; grep -rHo --include='*_test.go' --exclude-dir=test '^func $(FUZZ)[A-Za-z0-9_]*' . | sed 's/:func / /' | \
	while read -r file name; do \
		(set -x; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")") </dev/null; \
	done

bench: ## measured figures: name, value, unit, goal, holds or falls short
	@go run ./test/bench

bench-model: ## the same of the node classes, against scikit-learn where python3 has it (FULL=1: at 100,000 nodes too)
	@go run ./test/benchmodel $(if $(FULL),-full)

# The workloads of the published experiment and those without published values.
OPENB_NODES = $(OPENB)/openb_node_list_gpu_node.csv.gz
OPENB_JOBS  = $(OPENB)/openb_pod_list_default.csv.gz
BASELINES   = random,best-fit,dot-product,gpu-packing,gpu-clustering,fgd
# Replays: keep every n-th node, run the jobs so many times over.
REPLAYS = 10:10 10:12 10:14 20:5 20:6 20:7 7:17 7:20

comma := ,
empty :=
space := $(empty) $(empty)

openb: build ## the published experiment and the replays, all seeds: writes docs/openb.md and .svg (about 20 minutes, needs OPENB)
	mkdir -p out docs
	bin/poise sim compare --nodes $(OPENB_NODES) --jobs $(subst $(space),$(comma),$(wildcard $(OPENB)/openb_pod_list_*.csv.gz)) \
		--policy idle-balance,$(BASELINES) --seeds 42-51 -o json >out/openb.json
	set -e; for r in $(REPLAYS); do bin/poise sim compare --nodes $(OPENB_NODES) --jobs $(OPENB_JOBS) --mode replay --thin $${r%:*} --copies $${r#*:} \
		--from 10000000s --policy best-fit,fgd,idle-balance-spread,idle-balance --seeds 42-45 -o json >out/replay-$${r%:*}-$${r#*:}.json; done
	go run ./test/openb $(patsubst %,out/replay-%.json,$(subst :,-,$(REPLAYS))) >out/openb.md
	bin/poise sim compare --nodes $(OPENB_NODES) --jobs $(OPENB_JOBS) --policy idle-balance,$(BASELINES) --seeds 42-51 --svg docs/openb.svg
	mv out/openb.md docs/openb.md

lint: ## vet, staticcheck, gofumpt and the rules on the tree (host/archtest)
	go vet ./...
	$(STATICCHECK) ./...
	@set -e; for m in $(NESTED); do (set -x; cd $$m && go vet ./... && $(STATICCHECK) ./...); done
	@out=$$($(GOFUMPT) -l .) && if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	go test ./host/archtest

clean: ## what was built and measured
	rm -rf bin out

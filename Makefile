# Needs Go and make. gcc with libc6-dev adds the race detector to the tests.
# Tools run at a fixed version of their own, so go.mod stays the product's.
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0

# Published data that cannot be kept in the repository lies beside it.
OPENB ?= ../shared/traces/openb

# Modules apart from the product's: tests with heavy dependencies of their own.
# That of Kubernetes is so heavy that only test-kube touches it.
NESTED = $(filter-out test/kube,$(patsubst %/go.mod,%,$(wildcard test/*/go.mod)))

# -race where a C compiler and the C library's headers are there, else nothing.
RACE = $(shell go build -race runtime/cgo 2>/dev/null && echo -race)

# Compilers of the plugins' languages; those of plugin.yaml are Debian's.
export RUSTC        ?= rustc
export NODE_MODULES ?= $(CURDIR)/out/node_modules
ASC := assemblyscript@0.28.20

# Makes a client of docs/openapi.json. A place of its own: npm takes what it does
# not know away.
export OPENAPI_MODULES ?= $(CURDIR)/out/openapi/node_modules
OPENAPI_GENERATOR := swagger-typescript-api@13.13.0

# What a module is built with, in the words of plugin.yaml.
WITH_c              = $(shell clang --version | sed -n '1s/version //p'), $(shell wasm-ld --version | sed 's/LLD/lld/')
WITH_rust           = $(shell $(RUSTC) --version | awk '{print (NF == 2 ? "Debian " : "") $$0}'), $(shell wasm-ld --version | sed 's/LLD/lld/')
WITH_assemblyscript = $(shell sed -n 's/^ *"version": "\(.*\)",/assemblyscript \1/p' $(NODE_MODULES)/assemblyscript/package.json)
WITH_go             = $(shell go env GOVERSION | sed 's/^go/Go /')
WITH_wat            = $(shell wat2wasm --version | sed 's/^/wabt /')

WASM = c rust assemblyscript go wat

FUZZTIME ?= 10s
FUZZ     ?= Fuzz

.PHONY: help build demo test test-all unit unraced nested kube-assets test-kube fuzz soak wasm $(WASM:%=wasm-%) wasm-tools asc openapi-generator verify bench bench-model bench-policy bench-daemon bench-tenants bench-queue bench-kube openb kill9 lint clean

help: ## what can be made (this list)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the poise binary, bin/poise
	go build -trimpath -o bin/poise ./cmd/poise

demo: build ## a mixed fleet and two tenants: what was decided and why
	bin/poise sim run --nodes examples/fleets/mixed.yaml --jobs examples/jobs/two-tenants.yaml --mode replay --why train-multi-0

test: unit unraced nested lint ## every check of a change: tests with the race detector, nested modules, lint

test-all: test fuzz soak openb ## the same, then every fuzz target, a million calls of each plugin and the published experiment

unit: ## the product's tests, with the race detector where gcc is there
	@race='$(RACE)'; \
	[ -n "$$race" ] || echo 'no race detector: it needs gcc and the C headers (Debian: apt-get install gcc libc6-dev)'; \
	[ -d ../shared/golden ] || echo 'no ../shared/golden: the tests that compare with published results skip'; \
	set -x; go test $$race -timeout 30m $$(go list ./... | grep -v /host/daemon$$) && go test $$race -short -timeout 30m ./host/daemon

# What the race detector would make too slow: all of the engine's own suite, the
# published workloads, stock Go through the compile child.
UNRACED = ./host/policy/wasm ./host/policy ./host/cli ./host/sim ./abi/conformance

unraced: ## the tests that do less under the race detector, once more without it, and 100 kills of the daemon
	@[ -z '$(RACE)' ] || (set -x; go test -timeout 30m $(UNRACED))
	go test -timeout 30m ./host/daemon -kill9 100

nested: ## the tests in modules of their own under test/
	@set -e; for m in $(NESTED); do (set -x; cd $$m && go test ./...); done

# The binaries of a control plane lie outside the repository, by version, and are
# built only where they are absent. Tests compile with the same flags, so that
# both share what the Go cache holds.
KUBE_VERSION     := $(shell sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\).*|\1|p' test/kube/go.mod)
export KUBE_ASSETS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/poise/kube/$(KUBE_VERSION)
KUBE_GO           = cd test/kube && CGO_ENABLED=0 go

KUBE_BINARIES     = $(KUBE_ASSETS)/kube-apiserver $(KUBE_ASSETS)/kube-scheduler $(KUBE_ASSETS)/kubectl

kube-assets: $(KUBE_BINARIES) ## kube-apiserver, kube-scheduler and kubectl for test-kube, into the user's cache (KUBE_ASSETS=): 20 minutes of processor time, once
	@command -v etcd >/dev/null || { echo 'no etcd on the path: apt-get install --no-install-recommends etcd-server'; exit 1; }

$(KUBE_BINARIES):
	@mkdir -p $(@D)
	$(KUBE_GO) build -trimpath -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION)' -o $@.part k8s.io/kubernetes/cmd/$(@F)
	@mv $@.part $@

test-kube: ## tests against a real control plane, kubelets played; those of the plane skip without kube-assets
	$(KUBE_GO) vet -trimpath ./...
	$(KUBE_GO) test -trimpath -timeout 30m ./...

fuzz: ## each fuzz target for FUZZTIME (10s); one of them: make fuzz FUZZ=FuzzParse
	@set -e; grep -rHo --include='*_test.go' --exclude-dir=test '^func $(FUZZ)[A-Za-z0-9_]*' . | sed 's/:func / /' | \
	while read -r file name; do \
		(set -x; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")") </dev/null; \
	done

# Parameters without which a plugin does nothing.
SOAK_only-class = --param class=cpu-general

SOAK ?= 1h

soak: build ## an hour (SOAK=) of the daemon's loop under faults, and a million calls of each plugin
	go test ./host/daemon -run 'TestSimulation$$' -soak $(SOAK) -timeout 4h
	@set -e; $(foreach p,$(notdir $(wildcard plugins/*)),$(if $(wildcard plugins/$(p)/plugin.yaml),(set -x; bin/poise plugin check --soak plugins/$(p)/$(p).wasm $(SOAK_$(p)));))

wasm: $(WASM:%=wasm-%) ## builds every committed module again: needs Debian's clang lld rustc libstd-rust-dev-wasm32 wabt, and npm

# $(call plugins,LANGUAGE): the plugins in it, as DIRECTORY/NAME.
plugins = $(foreach f,$(shell grep -lx 'language: $(1)' plugins/*/plugin.yaml examples/plugins/*/plugin.yaml),$(patsubst %/plugin.yaml,%/$(notdir $(patsubst %/plugin.yaml,%,$(f))),$(f)))

# A plugin is built by its own Makefile, and plugin.yaml says of what and as what.
define build-plugin
rm -f $(1).wasm
$(MAKE) --no-print-directory -C $(dir $(1)) $(notdir $(1)).wasm
chmod a-x $(1).wasm
sed -i "s/^digest: .*/digest: sha256:$$(sha256sum <$(1).wasm | cut -c 1-64)/; s/^built_with: .*/built_with: [$(WITH_$(2))]/" $(dir $(1))plugin.yaml

endef

# Modules of tests and benchmarks, built the same way.
KERNELS = host/policy/testdata/kernels
METERED = host/policy/wasm/testdata
kernel  = clang --target=wasm32 -std=c11 -O3 $(3) -mbulk-memory -ffreestanding -ffp-contract=off -Iabi/guest/c -c -o out/kernel.o $(KERNELS)/$(1).c && \
	wasm-ld -z stack-size=8192 --stack-first --no-entry --strip-all -o $(KERNELS)/$(2).wasm out/kernel.o

wasm-c:
	$(foreach p,$(call plugins,c),$(call build-plugin,$(p),c))
	mkdir -p out
	$(call kernel,score,score_c,)
	$(call kernel,score,score_simd,-msimd128)
	$(call kernel,nodenumber,nodenumber,)
	clang --target=wasm32 -O2 -nostdlib -c -o out/kernel.o $(METERED)/kernels.c
	wasm-ld --no-entry --export=multiply --export=fib --export=sort --export=fill --export=score --stack-first -o $(METERED)/kernels.wasm out/kernel.o
	chmod a-x $(KERNELS)/*.wasm $(METERED)/kernels.wasm

wasm-rust:
	$(foreach p,$(call plugins,rust),$(call build-plugin,$(p),rust))
	cd $(KERNELS) && $(RUSTC) --edition 2021 --crate-type cdylib --target wasm32-unknown-unknown -C opt-level=3 -C panic=abort -C lto -C codegen-units=1 -C strip=symbols -C link-arg=-zstack-size=8192 -o score_rs.wasm score.rs
	chmod a-x $(KERNELS)/score_rs.wasm

wasm-assemblyscript: asc
	$(foreach p,$(call plugins,assemblyscript),$(call build-plugin,$(p),assemblyscript))

wasm-go:
	$(foreach p,$(call plugins,go),$(call build-plugin,$(p),go))

# Unchecked, because some are not valid on purpose; the bytes are the same.
wasm-wat:
	@set -e; for f in $(wildcard host/policy/testdata/*/*.wat host/cli/testdata/*/*.wat abi/conformance/testdata/*.wat test/*/*/*.wat); do \
		wat2wasm --no-check "$$f" -o "$${f%.wat}.wasm"; done

wasm-tools: # what the modules would be built with here
	@$(foreach l,$(WASM),echo '$(l): $(WITH_$(l))';)

asc: $(NODE_MODULES)/.bin/asc # the AssemblyScript compiler

$(NODE_MODULES)/.bin/asc:
	npm install --no-fund --no-audit --no-save --prefix $(@:%/node_modules/.bin/asc=%) $(ASC)

openapi-generator: $(OPENAPI_MODULES)/.bin/swagger-typescript-api # what test/openapi makes a client with

$(OPENAPI_MODULES)/.bin/swagger-typescript-api:
	npm install --no-fund --no-audit --no-save --prefix $(@:%/node_modules/.bin/swagger-typescript-api=%) $(OPENAPI_GENERATOR)

verify: ## the committed modules are what their sources make: byte for byte with the compilers of plugin.yaml, else by their decisions
	@out=$$(POISE_VERIFY=1 go test -count=1 -v -run '^TestModules' ./abi/guest) || { echo "$$out"; exit 1; }; \
	echo "$$out" | sed -n 's/^ *[a-z_]*_test.go:[0-9]*: //p'

bench: ## measured figures: name, value, unit, goal, holds or falls short
	@go run ./test/bench

bench-model: ## the same of the node classes, against scikit-learn where python3 has it (FULL=1: at 100,000 nodes too)
	@go run ./test/benchmodel $(if $(FULL),-full)

bench-policy: ## the same of the sandbox of plugins, against native code (PEER=DIR: and a checkout of kube-scheduler-wasm-extension)
	@go run ./test/benchpolicy $(if $(PEER),-peer $(PEER))

bench-daemon: ## the same of the daemon, against the store alone, one fsync and a read of the snapshot (about 10 minutes)
	@go run ./test/benchdaemon

bench-queue: ## what a long queue costs: a pass with a thousand to a million waiting jobs, without and with a reservation, and their memory (about 5 minutes)
	@go run ./test/benchqueue

KUBE_BENCH ?=

bench-kube: kube-assets ## binds per second on a real API server: nobody, kube-scheduler, poise, poise with a policy (KUBE_BENCH=-nodes 5000)
	$(KUBE_GO) run -trimpath ./bench $(KUBE_BENCH)

bench-tenants: ## what tenants with plugins cost each other, and whether changes leave anything behind (about an hour; PART=latency|changes|pushes|many)
	@go run ./test/benchtenants $(if $(PART),-only $(PART))

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
		--from 10000000s --reservations 0 --policy best-fit,fgd,idle-balance-spread,idle-balance --seeds 42-45 -o json >out/replay-$${r%:*}-$${r#*:}.json; done
	go run ./test/openb $(patsubst %,out/replay-%.json,$(subst :,-,$(REPLAYS))) >out/openb.md
	bin/poise sim compare --nodes $(OPENB_NODES) --jobs $(OPENB_JOBS) --policy idle-balance,$(BASELINES) --seeds 42-51 --svg docs/openb.svg
	mv out/openb.md docs/openb.md

# gofumpt sees test/kube too, and test-kube vets it; staticcheck of k8s.io/kubernetes
# took more than 400 s and is left out.
lint: ## vet, staticcheck, gofumpt and the rules on the tree (host/archtest)
	go vet ./...
	$(STATICCHECK) ./...
	@set -e; for m in $(NESTED); do (set -x; cd $$m && go vet ./... && $(STATICCHECK) ./...); done
	@out=$$($(GOFUMPT) -l .) && if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	go test ./host/archtest

kill9: ## 500 rounds of kill -9 of the daemon with tasks in flight
	go test -timeout 60m -v ./host/daemon -run TestKill9 -kill9 500

clean: ## what was built and measured
	rm -rf bin out

# Everything a developer runs. `make` alone lists the targets. Builds that take minutes are kept by version
# in a cache outside the checkout ($CNO_CACHE, by default ~/.cache/cno).
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

OUT    := _output
ASSETS := $(CURDIR)/$(OUT)/lab/bin
LAB    := $(OUT)/lab-bin/lab
PREFIX ?= /usr/local
export CNO_TEST_ASSETS := $(ASSETS)
# Tests, images and the lab are built in the same way, so that each package is compiled once for all of them.
export CGO_ENABLED := 0
export GOFLAGS     := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath -tags=grpcnotrace

# The modules: the programs, the lab with its suites, and what is tested with the libraries of other tools.
MODULES   := . e2e e2e/packaging e2e/olm
# How many packages are tested at a time, and those that take longest, which begin first. Many wait for servers and
# the kernel more than they compute.
SLOW      := ./providers/openshiftsdn/node ./internal/operator ./providers/ovnkubernetes/node ./internal/etcdcluster/etcdmanager ./internal/testing/faults ./internal/admission
PACKAGES  := $(shell expr $$(nproc) + 1)
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format pkgname --hide-summary=skipped --
SUITES    := $(GOTESTSUM) -count=1 -timeout 90m
# How many suites run at a time, each in a lab of its own, and those that take longest, which begin first. Two labs wait enough to share
# two processors; each takes about 1.5 GiB of memory.
LABS      ?= 2
LONG      := ./suites/openshift ./suites/multinetwork
ALL       := $(filter-out ./suites/dayone ./suites/network,$(patsubst e2e/%,./%,$(wildcard e2e/suites/*)))
# Suites of which the quick tier has nothing: several control-plane nodes, a network that grows, and the lab itself.
FULL_ONLY := ./suites/ha ./suites/growth ./suites/lab
# suites runs the suites $(2), and that of each network in $(3), with the flags $(1); those of day one, which need no lab, run beside them.
define suites
cd e2e; $(SUITES) $(1) ./suites/dayone/... & dayone=$$!; failed=0; \
(printf '$(SUITES) $(1) %s\n' $(LONG); \
go run ./cmd/networks $(3) | sed 's|.*|NETWORK=& $(SUITES) $(1) ./suites/network|'; \
printf '$(SUITES) $(1) %s\n' $(filter-out $(LONG),$(2))) | xargs -P $(LABS) -I{} sh -c '{}' || failed=$$?; \
wait $$dayone || failed=$$?; exit $$failed
endef
LINT      := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

##@ Main
help: ## List the targets
	@awk 'BEGIN{FS=":.*## "} /^##@/{print "\n" substr($$0,5)} /^[a-z0-9-]+:.*## /{printf "  %-12s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

lab: images $(LAB) ## A real cluster on this machine, the operator in it, flannel or NETWORK=TYPE, and proof that pods talk
	@cd e2e && go run ./cmd/lab-demo

lab-down: $(LAB) ## Take the cluster down again; nothing is left
	@$(LAB) down

test: deps test-assets ## Every test but those in the lab
	@$(GOTESTSUM) -timeout 30m -p $(PACKAGES) $(SLOW) ./...
	@cd e2e && $(GOTESTSUM) -timeout 30m ./lab/... ./kit ./networks ./cmd/...

e2e: images $(LAB) ## The quick tier of e2e/suites, in the lab, on each network; NETWORK=TYPE: all promises of one network
ifdef NETWORK
	@cd e2e && $(SUITES) ./suites/network
else
	@$(call suites,-short,$(filter-out $(FULL_ONLY),$(ALL)),quick)
endif

e2e-all: deps test-assets images $(LAB) ## Every promise in e2e/suites, on every network, and tests of make test at their full size: hours
	@CNO_POLICY_STARTS=1000 $(SUITES) -run TestPoliciesApplyToTheFirstPacketOfAPod ./providers/multus/node
	@CNO_AGENT_KILLS=20 $(SUITES) -run TestAgentKilledInsideRequests ./providers/openshiftsdn/node
	@$(call suites,,$(ALL),all)

e2e-versions: images $(LAB) ## The quick tier of what every network promises, on each version of Kubernetes; NETWORK=TYPE
	@cd e2e; for version in $$(../$(LAB) versions); do echo "Kubernetes $$version"; KUBERNETES=$$version $(SUITES) -short ./suites/network; done

##@ Build
build: ## All programs, into _output/<os>/<arch>
	@hack/build-go.sh

install: build ## cno into $(DESTDIR)$(PREFIX)/bin, also as kubectl cno with its completion
	@install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin $(OUT)/$$(go env GOOS)/$$(go env GOARCH)/cno
	@ln -sf cno $(DESTDIR)$(PREFIX)/bin/kubectl-cno
	@ln -sf cno $(DESTDIR)$(PREFIX)/bin/kubectl_complete-cno

images: build $(LAB) ## All images as docker-archive tars, into _output/images
	@$(LAB) build kube-proxy etcd etcdctl cni-plugins
	@go run ./hack/mkimages

release: $(LAB) ## Everything that VERSION=vX.Y.Z is released with, into _output/release/VERSION
	@go run ./hack/release -version '$(VERSION)'

release-check: release test-packaging ## Also build it a second time, in another directory, and compare; load images with containerd
	@$(LAB) build containerd ctr
	@hack/check-release.sh '$(VERSION)'

test-packaging: test-assets ## What other tools read, with their own libraries: Helm charts, samples for Argo CD and Flux, the bundle for OLM
	@for module in e2e/packaging e2e/olm; do (cd $$module && $(GOTESTSUM) -timeout 30m ./...); done

generate: ## CRDs and deep copies
	@hack/generate.sh

ui: ## The bundle of the pages of cno ui, into internal/ui/web; needs Node.js and npm
	@cd ui && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent build

##@ Check
test-api: deps test-assets ## Only what is tested against a real API server
	@$(GOTESTSUM) ./api/... ./internal/apply/... ./internal/controller/... ./internal/operator/... ./internal/doctest/... ./config/...

lint: ## golangci-lint over all modules, the shape of the tree, and the words of texts
	@for module in $(MODULES); do (cd $$module && $(LINT) run ./...); done
	@go test -count=1 ./internal/archtest

verify: generate ui ## generate, ui, tidy and lint leave no difference
	@for module in $(MODULES); do (cd $$module && go mod tidy); done
	@$(MAKE) lint
	@git diff --exit-code

golden: ## Update the expected outputs of the renderers
	@go test $$(grep -rl --include='*_test.go' internal/testing/golden . | xargs -n1 dirname | sort -u) -update

fuzz: ## Every fuzz target for FUZZTIME (20s) each
	@hack/fuzz.sh

bench: deps test-assets images ## Every benchmark beside what it is compared with, also those in the lab; BENCH="-table FILE"; NETWORK=TYPE: those in the lab, on one network
	@go run ./hack/bench $(BENCH) $(if $(NETWORK),e2e/bench)

conformance: images $(LAB) ## Kubernetes' own [sig-network] conformance tests, in the lab; FOCUS=RE SKIP=RE choose others; KILL=NAMESPACE/DAEMONSET is killed every 30 s
	@cd e2e && go run ./cmd/lab-demo
	@$(LAB) conformance $(if $(FOCUS),--focus '$(FOCUS)') $(if $(SKIP),--skip '$(SKIP)') $(if $(KILL),--kill '$(KILL)')

##@ Set-up
deps: ## Debian packages that the tests need
	@hack/deps.sh

test-assets: $(LAB) ## What tests run: a real API server, etcd and kube-proxy
	@$(LAB) build kube-apiserver kube-proxy etcd etcdctl kubectl cni-plugins

$(LAB): FORCE
	@cd e2e && go build -o ../$(LAB) ./cmd/lab
FORCE:

.PHONY: help lab lab-down test e2e e2e-all e2e-versions build install images release release-check test-packaging generate ui test-api lint verify golden fuzz bench conformance deps test-assets FORCE

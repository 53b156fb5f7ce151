# Everything here needs Go and make, and nothing else; tools are fetched by Go at the versions named below.

GO ?= go
FUZZTIME ?= 10s
BENCHTIME ?= 200ms
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# The version of Kubernetes that Rouse behaves like, for build info and --show-hidden-metrics-for-version.
VERSION = k8s.io/component-base/version
LDFLAGS = -X $(VERSION).gitVersion=v1.37.1 -X $(VERSION).gitMajor=1 -X $(VERSION).gitMinor=37

# The race detector needs a C compiler; without one the tests run without it.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
# Modules of their own: examples, and tests that need what this module does not.
MODULES = $(patsubst %/go.mod,%,$(wildcard examples/*/go.mod)) deploy/monitoring

# The platforms that a release has binaries for.
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.DEFAULT_GOAL := help
.PHONY: advice help build release api test check bench bench-full perf microbench fuzz parity audit cluster prove storm

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/rouse
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/rouse ./cmd/rouse

release: ## build bin/release: a binary for each platform, and their checksums
	@rm -rf bin/release && mkdir -p bin/release
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		echo "# $$platform"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -ldflags "-s -w $(LDFLAGS)" \
			-o bin/release/rouse-$$os-$$arch ./cmd/rouse || exit 1; \
	done
	@cd bin/release && sha256sum rouse-* > sha256sums.txt

api: ## write testdata/api.txt, the list of everything that is exported
	$(GO) test -vet=off -run TestExportedAPI . -update

test: ## check the import rules, then run every test with the race detector; examples, parity and a real API server included
	$(GO) test -vet=off .
	$(GO) test -vet=off $(RACE) ./...
	@for module in $(MODULES); do \
		echo "# $$module"; \
		(cd "$$module" && $(GO) test -vet=off $(RACE) ./...) || exit 1; \
	done
	cd test && N=200 $(GO) test -vet=off -p 1 ./...

check: ## gofmt, import rules, tidy go.mod, go vet, staticcheck, workflows
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) test -vet=off .
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@for module in $(MODULES); do \
		echo "# $$module"; \
		(cd "$$module" && $(GO) mod tidy -diff && $(GO) vet ./...) || exit 1; \
	done
	cd test && $(GO) mod tidy -diff && $(GO) vet ./...
	$(GO) run $(ACTIONLINT) -shellcheck= -pyflakes=

parity: ## run kube-scheduler's plugins next to ours on random clusters; SEED and N choose which and how many
	cd test && N=$${N:-6600} $(GO) test -count=1 -v -vet=off ./parity

audit: ## audit the default profile on random clusters in which everything changes; SCENARIOS is how many (500)
	SCENARIOS=$${SCENARIOS:-500} $(GO) test -count=1 -v -vet=off -timeout 60m -run TestRandomClustersMissNoWakeup ./inspect

advice: ## check the suggestions of rouse explain for PODS random pods that each plugin rejects (400)
	PODS=$${PODS:-400} $(GO) test -count=1 -v -vet=off -timeout 60m ./advice

prove: ## explore every state of small clusters, at most STATES (200000) of each, and find each of a list of errors put in; an hour
	PROVE=1 STATES=$${STATES:-200000} $(GO) test -count=1 -v -vet=off -timeout 6h -run TestProve ./internal/modelcheck
	PROVE=1 $(GO) test -count=1 -v -vet=off -timeout 1h -run "TestMutants/$$MUTANTS" ./internal/knownbugs

storm: ## random histories full of faults, STEPS of them (1000000) from SEED on; MUTANTS=. has it find errors that are put in
	STEPS=$${STEPS:-1000000} $(GO) test -count=1 -v -vet=off -timeout 12h -run 'TestStorm|TestMutants' ./internal/storm

forgotten: ## audit kube-scheduler's own plugins on random clusters, and plugins that forget an event; CLUSTERS is how many (20)
	cd test && CLUSTERS=$${CLUSTERS:-20} $(GO) test -count=1 -v -vet=off -timeout 120m ./forgotten

cluster: ## run rouse on a real API server: 1,000 nodes and 5,000 pods; NODES, PODS and SEED choose others
	cd test && NODES=$${NODES:-1000} PODS=$${PODS:-5000} $(GO) test -count=1 -v -vet=off -timeout 60m ./cluster

bench: ## Rouse next to kube-scheduler, the most important rows in 5 minutes; ROWS chooses any others, bin/bench.json is the report
	@mkdir -p bin
	cd test && $(GO) run ./bench -json ../bin/bench.json $(BENCHFLAGS)

bench-full: ## all rows of that in half an hour, for docs/performance.md; OPENB is where a trace is
	cd test && $(GO) run ./bench -full -json ../docs/performance/results.json -figures ../docs/performance \
		-page ../docs/performance.md $(BENCHFLAGS)

perf: ## the workloads of kube-scheduler's own benchmark suite, with both; TOPIC, SIZE and LABELS choose, bin/perf.json is the report
	@mkdir -p bin
	cd test && $(GO) run ./perf -json ../bin/perf.json $(PERFFLAGS)

microbench: ## run the benchmarks of the hot packages, BENCHTIME each (200ms)
	$(GO) test -vet=off -run '^$$' -bench . -benchtime $(BENCHTIME) ./framework ./queue ./cache ./runtime

fuzz: ## fuzz every target, FUZZTIME each (10s)
	@grep -ro --include='*_test.go' --exclude-dir=examples --exclude-dir=test '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func /:/' | sort | \
	while IFS=: read -r file target; do \
		echo "# $$target in $${file%/*}"; \
		$(GO) test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$${file%/*}" || exit 1; \
	done

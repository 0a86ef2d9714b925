# Bailiff: one target a job. `make help` lists them.
# Go, git and the other tools are looked for, and installed where missing, by
# scripts/setup, so that `make demo` and `make test` work on a fresh machine.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Where scripts/setup finds or puts Go when it is not on the PATH.
export PATH := $(CURDIR)/.cache/go/bin:$(PATH):/usr/local/go/bin

PKG      ?= ./...
FUZZTIME ?= 15s
SOAK     ?= 10m
SEED     ?= 1

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup:
	@scripts/setup go git

.PHONY: build
build: setup ## build bin/bailiff
	go build -o bin/bailiff ./cmd/bailiff

.PHONY: demo
demo: build ## consolidate a dozen dependency branches of a repository made on the spot
	@bin/bailiff demo

.PHONY: test
test: setup ## run the tests
	go test -timeout 20m $(PKG)

.PHONY: race
race: setup ## run the tests under the race detector
	@scripts/setup cc
	go test -race -short -timeout 20m $(PKG)

.PHONY: lint
lint: setup ## vet, staticcheck and golangci-lint, at their pinned versions
	@scripts/setup lint
	go vet $(PKG)
	"$$(go env GOPATH)/bin/staticcheck" $(PKG)
	"$$(go env GOPATH)/bin/golangci-lint" run --allow-parallel-runners $(PKG)

.PHONY: bench
bench: setup ## run the benchmarks
	go test -run '^$$' -bench . -benchmem $(PKG)

.PHONY: soak
soak: setup ## kill, stop and cut everything around the queue for SOAK (10m), from SEED (1)
	@scripts/setup redis
	QUEUE_SOAK=$(SOAK) QUEUE_SEED=$(SEED) go test -count 1 -timeout 0 -v -run 'TestChaos' ./queue

.PHONY: bench-queue
bench-queue: setup ## measure the queue beside asynq
	@scripts/setup redis
	cd queue/bench && go test -count 1 -v .

.PHONY: fuzz
fuzz: setup ## run every fuzz target for FUZZTIME (15s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: corpus
corpus: build ## measure on the corpus, beside plain git merge; ARGS="--case 'sharkdp*'"
	@[ -d "$${BAILIFF_CORPUS:-../shared/corpus/dependabot}" ] || \
		{ echo "no corpus here: set BAILIFF_CORPUS to the folder with the *.case.json files" >&2; exit 1; }
	@scripts/setup opinion
	go run ./internal/corpus/cmd $(ARGS)

.PHONY: opinion
opinion: setup ## show that each package manager refuses spoilt lockfiles
	@scripts/setup opinion
	BAILIFF_OPINION_FULL=1 go test -v ./internal/corpus/opinion

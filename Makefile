# Builds and checks durward. It needs make and a network; what else is missing the
# scripts get, or name.

GO       := scripts/go
TOOL     := $(GO) tool -modfile=tools/go.mod
VERSION   = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN      ?= bin
DIST     ?= dist
FUZZTIME ?= 20m
FUZZ     ?= .

# The version comes from git describe; stamping by go fails in a checkout that belongs
# to somebody else. On two slow processors some tests are not done in the usual ten minutes.
#
# The race detector watches what this program's own goroutines do. Tests that start it, or
# others, again and again, and look at what becomes of the machine, run without it.
#
# Whatever needs no C, and only the race detector does, is built as what is released is: with
# one set of flags each package is compiled once, for tests too. "lint" vets; tests do not again.
export GOFLAGS := -buildvcs=false -trimpath -vet=off -timeout=20m $(GOFLAGS)
export CGO_ENABLED := 0
RACE := CGO_ENABLED=1 $(GO) test -race
# With the race detector a program waits for a second before it ends, if nobody says otherwise.
export GORACE := atexit_sleep_ms=0

# Packages whose tests differ between root and everybody else.
UNPRIVILEGED := ./internal/audit ./internal/config/replace ./internal/dirlock ./internal/engine/file ./internal/engine/process ./internal/fsroot ./internal/pathguard ./internal/release ./internal/sandbox ./internal/sandbox/changeset ./internal/sandbox/confined ./internal/sandbox/denyglob ./internal/sandbox/landlock ./internal/sandbox/seccomp

# Packages whose abuse is of their own goroutines; that of others is of programs.
RACING := ./internal/cli ./internal/engine/mcpclient ./site

# $(call tagged,TAG) lists the packages with tests behind a build tag.
tagged = $(shell grep -rlE --include='*_test.go' '^//go:build .*\b$(1)\b' . | xargs -r dirname | sort -u)

.NOTPARALLEL:
.PHONY: build release test need lint cross unit vectors abuse e2e fuzz-short unprivileged bench fuzz help

build: ## bin/durward, one static program, and what deploy/Dockerfile wants beside it
	$(GO) build -ldflags '-X main.version=$(VERSION)' -o $(BIN)/durward ./cmd/durward
	@scripts/roots $(BIN)/ca-certificates.crt

release: ## all that is given out of a version, in $(DIST): make release VERSION=0.4.0 RELEASE_KEY=minisign.key
	@$(GO) run ./internal/release/makerelease -out '$(DIST)' -version '$(if $(filter command environment,$(firstword $(origin VERSION))),$(VERSION))' \
		$(if $(TARGETS),-targets '$(TARGETS)') -key '$(RELEASE_KEY)' -password-file '$(RELEASE_KEY_PASSWORD_FILE)' -public-key '$(RELEASE_PUBLIC_KEY)'

test: need lint cross unit vectors abuse e2e fuzz-short unprivileged ## everything that must hold

need:
	@scripts/need gcc libc git ps curl sqlite3 rg python3

lint: ## gofumpt, go vet and staticcheck; any finding fails
	@found=$$($(TOOL) gofumpt -l .) || exit; test -z "$$found" || { echo "not gofumpt-ed:" $$found; exit 1; }
	$(GO) vet -tags abuse,e2e ./...
	$(TOOL) staticcheck -tags abuse,e2e ./...

cross: ## build and vet for the other systems
	@set -e; for target in darwin/arm64 windows/amd64; do \
		echo "build and vet for $$target"; \
		export GOOS=$${target%/*} GOARCH=$${target#*/}; \
		$(GO) build -o /dev/null ./cmd/durward; $(GO) vet ./...; \
	done

unit: ## the tests, with the race detector; those of the program's scripts are run with "e2e"
	$(RACE) -skip '^TestScripts$$' ./...

vectors: ## the vectors of the contracts, counted
	@$(GO) test -run Vectors -v ./internal/source/pages ./internal/mcppolicy ./internal/engine/file ./execserver | sed -nE 's/.*_test.go:[0-9]*: (.*[0-9] (vectors|cases).*)/\1/p'

abuse: ## hostile commands, and many at once
	$(GO) test -tags abuse -run "$$(scripts/tests abuse)" $(filter-out $(RACING),$(call tagged,abuse))
	$(RACE) -tags abuse -run "$$(scripts/tests abuse)" $(RACING)

e2e: ## the program against real clients and by scripts; all other tests of those packages are run elsewhere
	@scripts/need chromium dockerd docker-compose ip nsenter busybox psql postgres bindfs bash npm venv debootstrap rpm
	$(if $(call tagged,e2e),$(GO) test -tags e2e -parallel 4 -run "$$(scripts/tests e2e)|^TestScripts$$" $(call tagged,e2e))

fuzz-short: ## a second or two for each fuzz target
	scripts/fuzz 60s . 5s

unprivileged: ## the tests of what root may do and others may not, as such another
	$(if $(filter 0,$(shell id -u)),$(GO) test -exec $(CURDIR)/scripts/unprivileged $(UNPRIVILEGED))
	$(if $(filter 0,$(shell id -u)),$(GO) test -tags abuse -exec $(CURDIR)/scripts/unprivileged ./internal/engine/process/abuse)

bench: ## ratios against a floor measured in the same run
	@scripts/need bwrap
	$(GO) run ./bench

fuzz: ## long fuzzing: make fuzz FUZZTIME=20m FUZZ='policy|netguard'
	scripts/fuzz $(FUZZTIME) '$(FUZZ)'

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

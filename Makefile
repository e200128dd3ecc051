# Evenflow. `make` alone lists the targets.
SHELL := bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help build dashboard browser-test install deb deps test lint fuzz demo pingall churn handover othello bench soak cover clean

# Print this list.
help: ; @awk '/^# /{text=substr($$0,3)} /^[a-z-]+:/{sub(":.*","",$$1); printf "  make %-12s %s\n",$$1,text}' Makefile

# Build bin/evenflow, which needs no shared library, with the dashboard in it.
build: dashboard ; CGO_ENABLED=0 go build -tags nomsgpack -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/evenflow

# Build the dashboard, if it has changed (Node.js and npm; without them it is left out).
dashboard: ; scripts/dashboard

# Install what was built (root; PREFIX=/usr/local, DESTDIR=).
install: ; scripts/install

# Build a Debian package in bin/.
deb: ; scripts/deb

# Install the Debian packages that tests, demo and benchmarks need (root).
deps: ; scripts/install-deps

# Set up and run everything that must pass before a change lands (root; some ten minutes).
test: ; scripts/test

# Check formatting, vet, staticcheck and the direction of imports.
lint: ; scripts/lint

# Fuzz every decoder for a minute each (FUZZTIME=10m for more).
fuzz: ; scripts/fuzz $(or $(FUZZTIME),1m)

# Show connections in Mininet that live on while backends and the controller come and go (root).
demo: ; scripts/demo

# Ping between all hosts of several Mininet topologies through Evenflow (root).
pingall: build ; /usr/bin/python3 mininet/pingall.py

# Hold 300 connections in Mininet while backends, VIPs and the controller change, 100 changes a second at last (root).
churn: build ; /usr/bin/python3 mininet/churn.py

# Hold 300 connections and 100 flows of datagrams of mode deferred in Mininet through 20 random changes; without hand-over they break (root).
handover: build ; /usr/bin/python3 mininet/handover.py

# Hold 300 connections and 100 flows of datagrams of mode othello in Mininet through ten changes, with agents; new connections as foretold (root).
othello: build ; /usr/bin/python3 mininet/othello.py

# Test the dashboard in a real browser at a live controller (root, Chromium).
browser-test: build ; scripts/browser-test

# Measure Evenflow beside other controllers in one run, into docs/benchmarks.md (root).
bench: ; scripts/bench

# Run what takes hours: long fuzzing, tests with the build tag soak, the demo again and again (root).
soak: ; scripts/soak

# Show which statements the tests reach (root, for the lab).
cover: ; scripts/cover

# Remove what was built.
clean: ; rm -rf bin bench/ofload/ofload coverage.out

# SPDX-License-Identifier: Apache-2.0
# The short commands; meson and ninja do the work. `make help` lists them.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
MESON_FLAGS ?=

.PHONY: all run test test-asan fuzz bench install format help clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile

run: ## set up, build, and replay examples/ through `tamis replay`
	@scripts/setup.sh build
	@$(MAKE) --no-print-directory all
	@$(BUILD)/cmd/tamis/tamis replay -f examples/firewall.nft --local 192.0.2.1 --local 2001:db8::1 examples/mixed.pcap

test: ## set up, build and run all tests; last line: N passed, M failed
	@scripts/setup.sh build test
	@$(MAKE) --no-print-directory all
	@scripts/run_tests.py $(BUILD)

test-asan: ## the same tests under the address and undefined behaviour sanitizers
	@scripts/setup.sh build test
	@$(MAKE) --no-print-directory BUILD=build-asan MESON_FLAGS='-Db_sanitize=address,undefined' all
	@scripts/run_tests.py build-asan

fuzz: ## every fuzz target for FUZZ_SECONDS (20) each; ends at the first crash
	@scripts/setup.sh build fuzz
	@CC=clang $(MAKE) --no-print-directory BUILD=build-fuzz MESON_FLAGS='-Dfuzz=true -Db_lundef=false' all
	@scripts/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

bench: ## build and run the benchmarks
	@scripts/setup.sh build bench
	@$(MAKE) --no-print-directory BUILD=build-bench MESON_FLAGS=--buildtype=release all
	@ninja -C build-bench --quiet bench

install: ## install command, library, headers, man page; PREFIX, DESTDIR
	@$(MAKE) --no-print-directory BUILD=build-install MESON_FLAGS='--buildtype=release --prefix=$(PREFIX)' all
	@meson install -C build-install --no-rebuild $(if $(DESTDIR),--destdir $(DESTDIR))

format: ## clang-format over all sources
	@scripts/setup.sh format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove all build directories
	@rm -rf build build-asan build-fuzz build-bench build-install

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_FLAGS) >/dev/null

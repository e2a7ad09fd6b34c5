# SPDX-License-Identifier: Apache-2.0
# The short commands; meson and ninja do the work. `make help` lists them.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
SOAK ?= 2000000
MESON_FLAGS ?=
TORTURE := hash ranges acl classifier

.PHONY: all run test test-asan test-tsan soak fuzz bench install format help clean

# On a terminal ninja shows its progress.
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -n | grep -q 'no work to do' || { echo "building in $(BUILD)/, the first time takes a minute or two"; \
		ninja -C $(BUILD) $$(test -t 1 || echo --quiet); }

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile

run: ## set up, build, and replay examples/ through `tamis replay`
	@$(MAKE) --no-print-directory all
	$(BUILD)/cmd/tamis/tamis replay -f examples/firewall.nft --local 192.0.2.1 --local 2001:db8::1 examples/mixed.pcap

# A build that was set up before there were the packages of the tests has none.
test: ## set up, build and run all tests; last line: N passed, M failed
	@scripts/setup.sh build test
	@[ ! -e $(BUILD)/build.ninja ] || grep -q cmocka $(BUILD)/build.ninja || rm $(BUILD)/build.ninja
	@$(MAKE) --no-print-directory all
	@scripts/run_tests.py $(BUILD)

test-asan: ## the same tests under the address and undefined behaviour sanitizers
	@scripts/setup.sh build test
	@$(MAKE) --no-print-directory BUILD=build-asan MESON_FLAGS='-Db_sanitize=address,undefined' all
	@scripts/run_tests.py build-asan --timeout-multiplier 4

test-tsan: ## what several threads do at once, under the thread sanitizer
	@scripts/setup.sh build test
	@$(MAKE) --no-print-directory BUILD=build-tsan MESON_FLAGS=-Db_sanitize=thread build-tsan/build.ninja
	@ninja -C build-tsan --quiet $(TORTURE:%=tests/torture/torture_%)
	@scripts/run_tests.py build-tsan --suite torture --timeout-multiplier 4

soak: ## sets, rules and jumps against naive references, SOAK (2000000) random steps of each kind
	@scripts/setup.sh build test
	@$(MAKE) --no-print-directory all
	TAMIS_SOAK=$(SOAK) $(BUILD)/tests/unit/test_set_random
	TAMIS_SOAK=$(SOAK) $(BUILD)/tests/unit/test_set_views
	TAMIS_SOAK=$(SOAK) $(BUILD)/tests/unit/test_classify
	TAMIS_SOAK=$(SOAK) $(BUILD)/tests/unit/test_jumps

fuzz: ## every fuzz target for FUZZ_SECONDS (20) each; ends at the first crash
	@scripts/setup.sh build fuzz
	@CC=clang $(MAKE) --no-print-directory BUILD=build-fuzz MESON_FLAGS='-Dfuzz=true -Db_lundef=false' all
	@scripts/run_fuzz.sh build-fuzz $(FUZZ_SECONDS)

bench: ## build and run the benchmarks
	@scripts/setup.sh build bench
	@$(MAKE) --no-print-directory BUILD=build-bench MESON_FLAGS=--buildtype=release all
	@ninja -C build-bench --quiet bench

# The build keeps the prefix of the time before, and meson takes relative paths from elsewhere.
install: ## install command, library, headers, man page; PREFIX, DESTDIR
	@$(MAKE) --no-print-directory BUILD=build-install MESON_FLAGS=--buildtype=release build-install/build.ninja
	@[ "$$(cat build-install/prefix 2>/dev/null)" = '$(abspath $(PREFIX))' ] || { \
		meson configure build-install -Dprefix='$(abspath $(PREFIX))' && \
		echo '$(abspath $(PREFIX))' >build-install/prefix; }
	@$(MAKE) --no-print-directory BUILD=build-install all
	@meson install -C build-install --no-rebuild $(if $(DESTDIR),--destdir '$(abspath $(DESTDIR))')

format: ## clang-format over all sources
	@scripts/setup.sh format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove all build directories
	@rm -rf build build-asan build-tsan build-fuzz build-bench build-install

# What meson says is told if it fails.
$(BUILD)/build.ninja:
	@scripts/setup.sh build
	@echo "setting up $(BUILD)/"
	@mkdir -p $(BUILD)
	@meson setup $$([ ! -e $(BUILD)/meson-private/coredata.dat ] || echo --reconfigure) $(BUILD) $(MESON_FLAGS) \
		>$(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log >&2; rm -f $(BUILD)/build.ninja; exit 1; }

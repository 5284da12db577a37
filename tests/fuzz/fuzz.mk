# What of the Makefile runs for long: fuzzing under libFuzzer, and a server under load. `make fuzz`: each target for
# FUZZ_SECONDS; `make fuzz-long HOURS=N`: all of them for N hours together, on all processors, and the counts into
# docs/reliability.md; tools/fuzz.mjs runs them and says how. `make soak MINUTES=N`: bench/soak.mjs; `make soak-page
# MINUTES=N`: bench/soak_page.mjs, a page in a browser.

FUZZ_SECONDS ?= 300
FUZZ_CC      ?= clang-19
FUZZ         := build/fuzz
FUZZ_FLAGS   := -g1 -O2 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# another compiler's objects, with what counts edges in them, beside the program's
FUZZ_MAKE     = +@$(MAKE) --no-print-directory $(if $(V),,-s) --output-sync $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc)) \
    BUILD=$(FUZZ)/objects CC='$(FUZZ_CC)' WARNINGS= CFLAGS='$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link'
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
.PHONY: fuzz fuzz-long fuzz-corpus fuzz-build

fuzz-build:
	@echo 'int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n); int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { return !b && n; }' | \
	    $(FUZZ_CC) -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null || \
	    { echo 'make $(MAKECMDGOALS) needs $(FUZZ_CC) with libFuzzer (apt-get install clang-19 libclang-rt-19-dev), or FUZZ_CC=clang' >&2; exit 1; }
	$(SETUP) build
	$(FUZZ_MAKE) $(addprefix $(FUZZ)/objects/,$(FUZZ_TARGETS))

fuzz: fuzz-build
	@node tools/fuzz.mjs --seconds $(FUZZ_SECONDS)

fuzz-long: fuzz-build
	@test -n '$(HOURS)' || { echo 'make fuzz-long HOURS=N: for how many hours?' >&2; exit 2; }
	@node tools/fuzz.mjs --hours $(HOURS) --write

# What libFuzzer found and no input of tests/fuzz/corpus shows, as few and as small as can be, into that folder.
fuzz-corpus: fuzz-build
	@node tools/fuzz.mjs --merge

# bench/stress.py is the same for one dispatch; it has options of its own.
MINUTES ?= 20
.PHONY: soak soak-page
soak:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo
	@node bench/soak.mjs --solo $(BUILD)/solo --minutes $(MINUTES)

soak-page:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo $(WEB)/.done
	@node bench/soak_page.mjs --solo $(BUILD)/solo --page $(WEB) --minutes $(MINUTES)

FUZZ_LIBRARY := $(filter-out $(BUILD)/src/cli/%,$(OBJECTS))
$(BUILD)/libfuzz.a: $(FUZZ_LIBRARY)
	rm -f $@
	$(AR) rcs $@ $^

$(addprefix $(BUILD)/,$(FUZZ_TARGETS)): $(BUILD)/%: tests/fuzz/%.c $(BUILD)/libfuzz.a $(wildcard tests/fuzz/*.h)
	@echo '  fuzz $@'
	$(COMPILE) -Itests -fsanitize=fuzzer $< $(BUILD)/libfuzz.a $(LDFLAGS) $(LDLIBS) -o $@

# Resampling is most of the time of what reads records: its branches are not counted.
$(FUZZ)/objects/src/base/stats.o: override CFLAGS := $(FUZZ_FLAGS)

# Solo. A bare `make` prints help.

VERSION := 0.1.0
PREFIX  ?= /usr/local
# of the libraries, below PREFIX
LIBDIR  ?= lib

# linux, macos or windows
SYSTEM   ?= $(if $(filter Darwin,$(shell uname -s)),macos,linux)

BUILD    := $(if $(SAN),build-san,$(if $(TSAN),build-tsan,build))
CFLAGS   ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Isrc -Ideps/include -I$(BUILD)/gen
# an older clang does not know the last of these, and would stop at that
WARNINGS := -Wall -Wextra -Werror $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),-Wno-unknown-warning-option) \
            -Wno-format-truncation
ifdef SAN
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
ifdef TSAN
SANITIZE := -fsanitize=thread -fno-omit-frame-pointer
endif
# What makes a mistake in memory harder to use, where the compiler has it; tests/cli/hardened.sh looks for it in the program.
# Sanitizers have their own ways, and without optimisation glibc cannot check sizes.
# (Tried into a file of its own: told /dev/null, zig writes ./-.o instead.)
takes     = $(if $(shell out=$$(mktemp) && { echo 'int x;' | $(CC) -Werror $(1) -x c -c - -o $$out 2>&1; rm -f $$out; }),,$(1))
ifeq ($(SYSTEM)$(SANITIZE)$(findstring -fsanitize,$(CFLAGS)),linux)
HARDENED := $(foreach flag,-fstack-protector-strong -fstack-clash-protection -fcf-protection,$(call takes,$(flag))) \
            $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
LDFLAGS  += -Wl,-z,relro,-z,now,-z,noexecstack
PIE      := -pie
endif
# hidden and position-independent: the same objects make the program, the tests and the libraries, which export solo_* alone.
# No fused multiply-adds of the compiler's own: angles and seeds have the same bits on every processor (ARM has them, and clang takes them).
COMPILE  = $(CC) -std=c11 -ffp-contract=off $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden $(WARNINGS) $(SANITIZE) $(HARDENED)

# jansson goes into the binary where its archive is here, so that the binary runs on machines without it
JANSSON  = $(or $(filter /%,$(shell $(CC) -print-file-name=libjansson.a)),-ljansson)
# libedit, for typing in `solo chat`, with all it needs in turn; the same; without its header the chat does without
archive  = $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a))
EDITLINE = $(if $(shell echo '\#include <histedit.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes),$(if \
    $(and $(call archive,edit),$(call archive,tinfo),$(call archive,bsd),$(call archive,md)),$(foreach a,edit tinfo bsd md,$(call archive,$(a))),-ledit))
# the collector's database, the same
SQLITE   = $(or $(call archive,sqlite3),-lsqlite3)
LDLIBS  += $(JANSSON) $(EDITLINE) $(SQLITE) -ldl -lm -lpthread
# of libsolo.so, which reads no lines; the archive of jansson is not made for a shared library
LIB_LDLIBS = -ljansson -ldl -lm -lpthread

# what the build makes by itself: kernels/ as C, the version, and where things are installed
GENERATED := $(BUILD)/gen/kernels.c $(BUILD)/gen/version.c $(BUILD)/gen/prefix.c
# src/base/os_SYSTEM*.c is what differs between systems; os_posix.c is of all but Windows
OTHER_SYSTEMS := $(filter-out src/base/os_$(SYSTEM)%,$(wildcard src/base/os_*.c))
OTHER_SYSTEMS := $(if $(filter windows,$(SYSTEM)),$(OTHER_SYSTEMS),$(filter-out src/base/os_posix.c,$(OTHER_SYSTEMS)))
# left out on Windows: servers, since there is no libmicrohttpd in the packages that are used, and reading standard error back
NOT_HERE  := $(if $(filter windows,$(SYSTEM)),src/base/abort_line.c src/serve/http_% src/serve/server% src/cli/collect_import.c \
    $(filter-out %_check.c %_clean.c %_json.c %_memory.c %_points.c,$(wildcard src/serve/collect_*.c)),src/cli/no_servers.c)
SOURCES   := $(sort $(filter-out src/web/% src/gpu/web/% $(OTHER_SYSTEMS) $(NOT_HERE),$(shell find src -name '*.c')))
OBJECTS   := $(SOURCES:%.c=$(BUILD)/%.o) $(GENERATED:.c=.o)
LIBRARY   := $(filter-out $(BUILD)/src/cli/main.o,$(OBJECTS))
# what include/solo.h stands for
API       := $(filter-out $(BUILD)/src/cli/% $(BUILD)/src/lab/% $(BUILD)/src/hub/% $(BUILD)/src/serve/%,$(OBJECTS))
LIBS      := $(BUILD)/libsolo.a $(BUILD)/libsolo.so.0 $(BUILD)/solo.pc

# one program per tests/unit/test_*.c and tests/gpu/test_*.c, and the scripts; ONLY=word: those with it in their name
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/test_*.c tests/gpu/test_*.c tests/fuzz/fuzz_*.c)))
TEST_SCRIPTS  := $(sort $(wildcard tests/cli/*.sh tests/web/*.sh))
# scripts first: the longest are among them, and two run at a time
TESTS         := $(TEST_SCRIPTS) $(TEST_PROGRAMS)
ifdef ONLY
TESTS         := $(foreach t,$(TESTS),$(if $(findstring $(ONLY),$(t)),$(t)))
endif

# libraries in which a call of the program or of Vulkan fails; sanitizers have an allocator of their own
FAULTS := $(if $(filter linux,$(SYSTEM)),$(BUILD)/tests/faults/fail_calls.so $(BUILD)/tests/faults/fail_gpu.so)

SETUP = @CC='$(CC)' sh tools/setup.sh
# the compiling itself is parallel, with each command's messages kept together; V=1 shows the commands
COMPILE_ALL = +@$(MAKE) --no-print-directory $(if $(V),,-s) --output-sync $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help build lib run test test-faults test-threads test-valgrind newer long-prompts lint web npm dist cross test-cross deb install clean distclean format setup python wheel test-python test-opinfo test-npm test-packages always uninstall install-man uninstall-man

help:
	@echo 'Solo $(VERSION): WebGPU workloads in as few dispatches as possible, and what a dispatch costs'
	@echo
	@echo '  make run        set up what is missing, build, run the demo'
	@echo '  make test       set up what is missing, build, run every test (ONLY=word: those with it in their name)'
	@echo '  make build      set up what is missing for building, build build/solo'
	@echo '  make lib        set up what is missing for building, build build/libsolo.a and libsolo.so (include/solo.h says what is in them)'
	@echo '  make python     build the Python package into build/python (docs/python.md); make wheel: as a wheel, into build/wheel'
	@echo '  make web        build the page and the wasm into build/web'
	@echo '  make npm        the same without the page as a package for npm, into build/npm (docs/web.md)'
	@echo '  make install    into PREFIX (now $(PREFIX)): the program with manual pages and completion, the libraries, solo.h, and the'
	@echo '                  page if it was built'
	@echo '  make uninstall  take those away again'
	@echo '  make dist       the source as an archive that builds without a network, an SBOM and checksums, into build/dist'
	@echo '  make cross      the program for TARGETS (now $(TARGETS)), into build/cross;'
	@echo '                  make test-cross: with their tests under qemu and wine'
	@echo '  make deb        Debian packages of it, into build/deb (docs/platforms.md)'
	@echo '  make test-packages  Debian packages, the wheel and the container, built and used in empty systems (as root)'
	@echo '  make setup      only set up what is missing for all of this'
	@echo '  make fuzz       the parsers under libFuzzer, FUZZ_SECONDS each (now $(FUZZ_SECONDS)); make fuzz-long HOURS=N: for N hours in all,'
	@echo '                  and the counts into docs/reliability.md; make fuzz-corpus: what they found into tests/fuzz/corpus'
	@echo '  make test-faults  every allocation, system call and call of the GPU fails once (POINTS=N: at most so many of each kind)'
	@echo '  make test-threads, make test-valgrind  the threads under ThreadSanitizer, the core under valgrind'
	@echo '  make newer      which of the dependencies that are pinned here have newer versions'
	@echo '  make lint       layout, scripts, order of includes, line lengths (a part of make test)'
	@echo '  make format     lay out the C sources (clang-format), Markdown and records'
	@echo '  make clean      remove what was built'
	@echo '  make distclean  remove what was set up here, too'
	@echo
	@echo '  SAN=1  with the address and undefined-behaviour sanitizers, in build-san/'
	@echo '  V=1    show the commands'

setup:
	$(SETUP) test

build:
	$(SETUP) build
	$(COMPILE_ALL) $(BUILD)/solo $(BUILD)/man/.done

lib:
	$(SETUP) build
	$(COMPILE_ALL) $(LIBS)

python:
	$(SETUP) run
	$(COMPILE_ALL) $(LIBS)
	@sh tools/python_package.sh $(BUILD)

wheel:
	$(SETUP) run
	$(COMPILE_ALL) $(LIBS)
	@sh tools/wheel.sh $(BUILD) $(VERSION)

# The Python package with everything it can work with (Ray, mypy): PYTHON must have them, as docs/python.md says.
test-python:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo $(LIBS) $(FAULTS)
	@sh tools/python_package.sh $(BUILD)
	@cd $(BUILD)/python && $(or $(PYTHON),python3) -m mypy --config-file pyproject.toml
	@SOLO=$(CURDIR)/$(BUILD)/solo PYTHONPATH=$(CURDIR)/$(BUILD)/python PYTHONDONTWRITEBYTECODE=1 $(or $(PYTHON),python3) tests/python/run.py

# PyTorch's own samples of its operators on device="webgpu" (docs/torch-device.md): PYTHON must have torch, expecttest and hypothesis.
test-opinfo:
	$(SETUP) test
	$(COMPILE_ALL) $(LIBS)
	@sh tools/python_package.sh $(BUILD)
	@for how in '' --gradients '--type float16' '--type int64' '--type int32' '--type bool'; do \
	    PYTHONPATH=$(CURDIR)/$(BUILD)/python $(or $(PYTHON),python3) tests/python/opinfo.py $$how || exit 1; \
	done

run:
	$(SETUP) run
	$(COMPILE_ALL) $(BUILD)/solo
	@$(BUILD)/solo demo

# The libraries that the tests load leak on their own; tests/lsan.supp names them.
test: export SOLO = $(CURDIR)/$(BUILD)/solo
test: export SOLO_PAGE = $(CURDIR)/$(BUILD)/web
test: export ASAN_OPTIONS ?= detect_leaks=1:abort_on_error=0
test: export LSAN_OPTIONS ?= suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0
test: export UBSAN_OPTIONS ?= print_stacktrace=1
test:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo $(TEST_PROGRAMS) $(LIBS) $(FAULTS) $(WEB)/.done
	@sh tests/run.sh $(TESTS)

# Every allocation, every call of the system and every call of the GPU fails once (tests/cli/faults.sh tries a few of
# them). POINTS=N: at most so many of each kind. About an hour on two processors.
POINTS ?= 0
test-faults: export ASAN_OPTIONS ?= detect_leaks=1:verify_asan_link_order=0
test-faults: export LSAN_OPTIONS ?= suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0
test-faults:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo $(FAULTS)
	@status=0; python3 tests/faults/run.py $(BUILD)/solo $(BUILD)/tests/faults/fail_calls.so --points $(POINTS) --slow-points $(POINTS) || status=1; \
	for script in gpu serve; do python3 tests/faults/$$script.py $(BUILD)/solo $(BUILD)/tests/faults/fail_gpu.so --points $(POINTS) || status=1; done; \
	exit $$status

# Threads under ThreadSanitizer: jobs, the scheduler of `solo serve`, HTTP, what is kept between runs, loading.
THREAD_TESTS := $(addprefix build-tsan/tests/,unit/test_workers unit/test_scheduler unit/test_http unit/test_blob_cache unit/test_worker)
test-threads:
	$(SETUP) test
	$(COMPILE_ALL) TSAN=1 $(THREAD_TESTS)
	@TSAN_OPTIONS=halt_on_error=1 sh tests/run.sh $(THREAD_TESTS)

# The core under valgrind: what reads files and texts. Without those tests that look at how long something takes.
VALGRIND_TESTS := $(addprefix unit/test_,base gguf gguf_bad gguf_split safetensors tokenizer_gguf jinja chat graph plan record compare grammar stops tool_calls sim_source)
test-valgrind:
	@command -v valgrind >/dev/null || { echo 'make test-valgrind needs valgrind (apt-get install valgrind)' >&2; exit 1; }
	$(SETUP) test
	$(COMPILE_ALL) $(addprefix $(BUILD)/tests/,$(VALGRIND_TESTS))
	@for test in $(VALGRIND_TESTS); do echo "$$test"; \
	    valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite $(BUILD)/tests/$$test >$(BUILD)/valgrind.log 2>&1 || \
	        { tail -40 $(BUILD)/valgrind.log; exit 1; }; done

# Longer prompts against transformers, which PYTHON must have. Some minutes, so no part of `test`.
long-prompts:
	$(SETUP) build
	$(COMPILE_ALL) $(BUILD)/solo
	@$(or $(PYTHON),python3) tests/oracle/long_prompts.py --solo $(BUILD)/solo

# The package for npm with bundlers, TypeScript and React, which tests/npm/package-lock.json pins.
test-npm: export SOLO = $(CURDIR)/$(BUILD)/solo
test-npm: export SOLO_PAGE = $(CURDIR)/$(BUILD)/web
test-npm: export BUNDLERS = tests/npm/node_modules
test-npm:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo $(WEB)/.done
	@npm ci --prefix tests/npm --ignore-scripts --no-audit --no-fund --loglevel=error
	@sh tests/run.sh tests/web/package.sh

# The packages for Debian and Python and the container, each built, installed and used in an empty system (as root).
test-packages: export SOLO = $(CURDIR)/$(BUILD)/solo
test-packages: export VERSION := $(VERSION)
test-packages: dist wheel
	@sh tests/run.sh tests/packages/debian.sh tests/packages/container.sh

TO = $(DESTDIR)$(PREFIX)
install:
	$(SETUP) run
	$(COMPILE_ALL) $(BUILD)/solo $(LIBS)
	install -d '$(TO)/bin' '$(TO)/lib/solo' '$(TO)/$(LIBDIR)/pkgconfig' '$(TO)/include'
	install -m 755 $(BUILD)/solo '$(TO)/bin/solo'
	for library in $(wildcard deps/lib/*.so); do install -m 755 "$$library" '$(TO)/lib/solo/' || exit 1; done
	install -m 644 $(BUILD)/libsolo.a '$(TO)/$(LIBDIR)/libsolo.a'
	install -m 755 $(BUILD)/libsolo.so.0 '$(TO)/$(LIBDIR)/libsolo.so.0'
	ln -sf libsolo.so.0 '$(TO)/$(LIBDIR)/libsolo.so'
	install -m 644 include/solo.h '$(TO)/include/solo.h'
	install -m 644 $(BUILD)/solo.pc '$(TO)/$(LIBDIR)/pkgconfig/solo.pc'
	+@$(MAKE) --no-print-directory install-man
	@if [ -e $(WEB)/.done ]; then install -d '$(TO)/share/solo/web' && install -m 644 $(WEB)/* '$(TO)/share/solo/web/'; fi

uninstall: uninstall-man
	rm -f '$(TO)/bin/solo' '$(TO)/$(LIBDIR)/libsolo.a' '$(TO)/$(LIBDIR)/libsolo.so.0' '$(TO)/$(LIBDIR)/libsolo.so' \
	    '$(TO)/include/solo.h' '$(TO)/$(LIBDIR)/pkgconfig/solo.pc'
	rm -rf '$(TO)/lib/solo' '$(TO)/share/solo'

# Manual pages, and completion where the shells look for it.
SHARE = $(DESTDIR)$(PREFIX)/share
install-man:
	$(SETUP) build
	$(COMPILE_ALL) $(BUILD)/man/.done
	install -d '$(SHARE)/man/man1'
	install -m 644 $(BUILD)/man/*.1 '$(SHARE)/man/man1/'
	install -D -m 644 $(BUILD)/man/solo.bash '$(SHARE)/bash-completion/completions/solo'
	install -D -m 644 $(BUILD)/man/solo.zsh '$(SHARE)/zsh/site-functions/_solo'
	install -D -m 644 $(BUILD)/man/solo.fish '$(SHARE)/fish/vendor_completions.d/solo.fish'

uninstall-man:
	$(SETUP) build
	$(COMPILE_ALL) $(BUILD)/man/.done
	cd $(BUILD)/man && for page in *.1; do rm -f '$(SHARE)'/man/man1/"$$page"; done
	rm -f '$(SHARE)/bash-completion/completions/solo' '$(SHARE)/zsh/site-functions/_solo' \
	    '$(SHARE)/fish/vendor_completions.d/solo.fish'

clean:
	rm -rf build build-san build-tsan

distclean: clean
	rm -rf deps node_modules tests/oracle/node_modules tests/npm/node_modules

format:
	@command -v clang-format >/dev/null || { echo 'make format needs clang-format (apt-get install clang-format)' >&2; exit 1; }
	@find src tests $(wildcard include examples) -name '*.[ch]' -exec clang-format -i {} +
	@node tools/wrap_markdown.mjs
	@find results -name '*.json' -exec node tools/record_layout.mjs {} +

lint:
	@sh tools/lint.sh

newer:
	@node tools/newer.mjs

# The source as an archive that builds without a network, its SBOM, and checksums of both.
dist:
	$(SETUP) build
	$(COMPILE_ALL) $(BUILD)/gen/kernels.c
	@sh tools/dist.sh $(BUILD) $(VERSION)

# The program for other systems (TARGETS), compiled here; docs/platforms.md says what of it was run.
TARGETS ?= linux-arm64 macos-arm64 macos-x64 windows-x64
cross:
	$(SETUP) build
	@sh tools/cross.sh $(TARGETS)

# Those that can be run here, with their unit tests: ARM's under qemu, Windows' under wine.
TESTED ?= linux-arm64 windows-x64
test-cross:
	$(SETUP) test
	$(COMPILE_ALL) $(BUILD)/solo
	@TEST=1 sh tools/cross.sh $(TESTED)

# The same as a Debian package, with the build dependencies of debian/control from this system.
deb: dist
	@sh tools/deb.sh $(BUILD) $(VERSION)

# ---- the binary and the test programs -----------------------------------------

$(BUILD)/solo: $(OBJECTS)
	@echo '  link $@'
	$(CC) $(SANITIZE) $(PIE) $(LDFLAGS) $^ $(LDLIBS) -o $@

# manual pages and completion scripts, from the tables in the binary
$(BUILD)/man/.done: $(BUILD)/solo
	@echo '  gen  $(@D)'
	rm -rf $(@D)
	$(BUILD)/solo man $(@D)
	for shell in bash zsh fish; do $(BUILD)/solo completion $$shell >$(@D)/solo.$$shell || exit 1; done
	touch $@

# One object of all: in an archive of many, what they call of each other would have to be seen by everyone.
$(BUILD)/libsolo.o: $(API)
	@echo '  link $@'
	$(CC) -r -nostdlib $^ $(filter %.a,$(JANSSON)) -o $@
	objcopy --localize-hidden --wildcard --keep-global-symbol='solo_*' $@

$(BUILD)/libsolo.a: $(BUILD)/libsolo.o
	@echo '  ar   $@'
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libsolo.so.0: $(API) src/api/exports.map
	@echo '  link $@'
	$(CC) -shared $(SANITIZE) $(LDFLAGS) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,$(@F) -Wl,--version-script=src/api/exports.map $(API) $(LIB_LDLIBS) -o $@
	ln -sf $(@F) $(BUILD)/libsolo.so

# it finds the rest from where it lies, so that an installation can be moved
empty :=
UP    := $(subst $(empty) ,,$(foreach folder,$(subst /, ,$(LIBDIR)),/..))
$(BUILD)/solo.pc: Makefile
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$${pcfiledir}/..$(UP)' 'libdir=$${prefix}/$(LIBDIR)' 'includedir=$${prefix}/include' '' \
	    'Name: solo' 'Description: language models, graphs and simulations on WebGPU in as few dispatches as possible' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lsolo' \
	    'Libs.private: $(patsubst %.a,,$(JANSSON)) -ldl -lm -lpthread' >$@

# One archive for all test programs: each takes out of it what it calls. 'q', since files in two folders may have one name.
$(BUILD)/tests/library.a: $(LIBRARY)
	@echo '  ar   $@'
	@mkdir -p $(@D)
	rm -f $@
	$(AR) qcs $@ $^

# other systems' objects are not ar's
$(TEST_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(if $(filter linux,$(SYSTEM)),$(BUILD)/tests/library.a,$(LIBRARY))
	@echo '  link $@'
	$(CC) $(SANITIZE) $(LDFLAGS) $^ $(LDLIBS) -lcmocka -o $@

$(BUILD)/tests/faults/%.so: tests/faults/%.c
	@echo '  cc   $@'
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) $(if $(SAN),-DWITHOUT_MEMORY) -shared -fPIC $< -o $@ -ldl -lpthread

$(BUILD)/tests/%.o: CPPFLAGS += -Itests
# in the tests a fuzz target runs its corpus and some thousand fixed mutations
$(BUILD)/tests/fuzz/%.o: CPPFLAGS += -DFUZZ_MAIN

$(BUILD)/%.o: %.c Makefile | $(BUILD)/gen/kernels.h
	@echo '  cc   $<'
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c $< -o $@

# the built-in model is part of it (tools/train makes the file)
$(BUILD)/src/model/builtin.o: models/builtin.gguf

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c Makefile | $(BUILD)/gen/kernels.h
	@echo '  cc   $<'
	$(COMPILE) -MMD -MP -c $< -o $@

include tests/fuzz/fuzz.mk

# The kernels, in two steps: their texts with the names of arguments resolved, and a tool that expands them; then what is
# made of the expanded ones. The folders are named too, so that a kernel removed is noticed, and the text that names files
# of theirs.
HOST_CC     ?= $(CC)
KERNEL_TOOLS := tools/kernels.mjs tools/kernel_args.mjs $(BUILD)/gen/expand_kernel src/graph/megakernel_link.c

# An archive of `make dist` brings what is made here, and the headers of WebGPU: it builds without Node and without a network.
ifneq ($(wildcard prebuilt/kernels.c),)
CPPFLAGS += -Iprebuilt
PREBUILT := kernels.h kernel_args.h kernels.c
$(addprefix $(BUILD)/gen/,$(PREBUILT)): $(BUILD)/gen/%: prebuilt/%
	@mkdir -p $(@D)
	cp $< $@
else
$(BUILD)/gen/kernel_sources.c: tools/kernels.mjs tools/kernel_args.mjs src/graph/graph.h $(shell find kernels)
	@echo '  gen  $@'
	@mkdir -p $(@D)
	node tools/kernels.mjs sources $(@D)

$(BUILD)/gen/kernels.h $(BUILD)/gen/kernel_args.h: $(BUILD)/gen/kernel_sources.c ;

EXPAND_KERNEL := tools/expand_kernel.c src/graph/kernel_text.c src/launch/kernel_file.c src/base/str.c src/base/err.c
$(BUILD)/gen/expand_kernel: $(EXPAND_KERNEL) src/graph/kernel_text.h $(BUILD)/gen/kernel_sources.c
	@echo '  cc   $@'
	$(HOST_CC) -std=c11 $(CPPFLAGS) $(WARNINGS) $(EXPAND_KERNEL) $(BUILD)/gen/kernel_sources.c -o $@

$(BUILD)/gen/kernels.c: $(KERNEL_TOOLS) $(shell find kernels)
	@echo '  gen  $@'
	node tools/kernels.mjs $@
endif

# Looked at every time, rewritten only when it changes.
$(BUILD)/gen/version.c: always
	@mkdir -p $(@D)
	@commit=unknown; \
	if [ -e prebuilt/commit ]; then commit=$$(cat prebuilt/commit); \
	elif [ -e .git ]; then commit=$$(git describe --always --dirty --exclude '*' 2>/dev/null) || commit=unknown; fi; \
	printf '%s\n' \
	    'extern const char *const solo_version, *const solo_commit;' \
	    'const char *const solo_version = "$(VERSION)";' \
	    "const char *const solo_commit = \"$$commit\";" >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/gen/prefix.c: always
	@mkdir -p $(@D)
	@printf '%s\n' 'extern const char *const solo_prefix;' 'const char *const solo_prefix = "$(PREFIX)";' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# ---- the page ------------------------------------------------------------------------
# The same C as wasm, without what a page does not have (src/web has its own for some of it), once for hosts that
# can suspend wasm themselves (JSPI) and once for those that cannot (made able to by wasm-opt).

WEB       := $(BUILD)/web
WASM_CC   ?= clang-19
WASM_OPT   = node node_modules/.bin/wasm-opt
# the first 1024 bytes of memory are nobody's (--global-base): offsets into what is read may be folded
OPT_FLAGS  = -Oz --low-memory-unused --strip-debug --strip-producers --enable-bulk-memory --enable-nontrapping-float-to-int
WASM_FLAGS = --target=wasm32-wasi -std=c11 -Oz -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL -Iinclude -Isrc -I$(BUILD)/gen $(WARNINGS) \
             -Wno-unknown-warning-option -mbulk-memory -mnontrapping-fptoint
JINJA     := $(wildcard src/model/jinja*.c)
NOT_WEB   := $(addprefix src/base/,abort_line.c blob_cache.c cache.c cache_folder.c file.c file_new.c map.c progress.c mute_stderr.c workers.c) $(filter-out src/base/os_wasi.c,$(wildcard src/base/os_*.c)) src/gpu/backends.c src/gpu/memory_size.c \
             $(wildcard src/model/aten*.c src/model/pt2*.c) $(addprefix src/model/,builtin.c casing.c casing_tables.c check.c config_gguf_streams.c config_hf.c config_hf_experts.c config_hf_latent.c config_hf_layers.c config_hf_read.c config_hf_rope.c config_hf_streams.c convert.c convert_tokenizer.c decoder_beside.c decoder_latent.c decoder_streams.c folder.c folder_experts.c gguf_layout.c gguf_layout_keys.c gguf_layout_types.c gguf_write.c json_values.c jsonr.c latent.c lora.c names.c nfc.c nfc_tables.c \
                 quantised.c quantised_bytes.c quantised_scheme.c quantised_words.c safetensors.c sentence.c synth.c synth_tokenizer.c tokenizer_json.c tokenizer_json_encoders.c tokenizer_json_steps.c tokenizer_json_tokens.c tokenizer_own.c unigram.c wordpiece.c chat_template.c) \
             $(JINJA) $(addprefix src/graph/,cpu.c cpu_attention.c cpu_experts.c cpu_map.c cpu_recurrent.c cpu_state.c matmul_slots.c matmul_slots_matrix.c plan_shares.c type_grid.c type_iq_tables.c type_k_write.c) src/web/sim.c src/web/decoder.c src/web/chat_module.c src/web/torch.c \
             $(wildcard src/llm/batch*.c) $(addprefix src/llm/,conversation_compact.c embedder.c generation_state.c markup.c program_run.c session_file.c session_save.c tool_calls.c)
WEB_SOURCES := $(filter-out $(NOT_WEB),$(wildcard src/base/*.c src/gpu/*.c src/gpu/web/*.c src/launch/*.c src/graph/*.c src/model/*.c src/llm/*.c src/web/*.c)) \
             $(addprefix src/lab/,measurement.c device.c dispatch.c dispatch_claims.c dispatch_record.c launch.c llm.c llm_report.c record.c bench_device.c)
WEB_OBJECTS := $(WEB_SOURCES:%.c=$(BUILD)/wasm/%.o) $(BUILD)/wasm/kernels_web.o $(BUILD)/wasm/version.o
# simulations are a module of their own, for those who want them: include/solo.h, and nothing of models; it also has the
# measurement of a small decoder
SIM_SOURCES := $(filter-out $(NOT_WEB),$(wildcard src/base/*.c src/gpu/*.c src/gpu/web/*.c src/launch/*.c src/sim/*.c)) src/api/device.c src/api/sim.c \
             $(addprefix src/lab/,decoder.c decoder_report.c device.c launch.c record.c) $(addprefix src/web/,cache.c decoder.c progress.c reply.c sim.c)
SIM_OBJECTS := $(SIM_SOURCES:%.c=$(BUILD)/wasm/%.o) $(BUILD)/wasm/kernels_sim.o $(BUILD)/wasm/version.o
# PyTorch's programs, likewise: fetched with the first .pt2 file; of unavailable.c they need what stands for base/map.h
TORCH_SOURCES := $(filter-out $(NOT_WEB),$(wildcard src/base/*.c src/gpu/*.c src/gpu/web/*.c src/launch/*.c src/graph/*.c)) $(wildcard src/graph/cpu*.c src/model/aten*.c) \
             $(addprefix src/,graph/cpu.c model/pt2.c model/jsonr.c model/names.c model/unicode.c model/unicode_tables.c llm/program_run.c web/cache.c web/reply.c web/torch.c web/unavailable.c web/workers.c web/progress.c)
TORCH_OBJECTS := $(sort $(TORCH_SOURCES:%.c=$(BUILD)/wasm/%.o)) $(BUILD)/wasm/kernels_torch.o $(BUILD)/wasm/version.o
# chat templates, too: fetched for a model that has one
CHAT_SOURCES := $(JINJA) $(addprefix src/,model/chat_template.c model/jsonr.c model/unicode.c model/unicode_tables.c base/str.c base/err.c base/jsonw.c base/os_wasi.c web/reply.c web/chat_module.c)
CHAT_OBJECTS := $(CHAT_SOURCES:%.c=$(BUILD)/wasm/%.o)
# what suspends C (src/gpu/web/host.h, src/web/host.h)
SUSPENDING  := gpu.open,gpu.await_errors,gpu.wait,gpu.poll,gpu.timer_read,page.read_file,page.template_open
# and what never does, although it calls by pointer: made able to, all of C would be, and half as large again
ASYNCIFY_REMOVELIST := src/web/asyncify_removelist.txt

# Markdown for answers, and what makes its HTML safe, from npm (make setup)
WEB_LIBRARIES := node_modules/marked/lib/marked.esm.js node_modules/dompurify/dist/purify.min.js
WEB_FILES := $(wildcard web/*.js web/*.html web/*.css web/*.svg web/*.d.ts web/*.json web/*.webmanifest)

web:
	$(SETUP) web
	$(COMPILE_ALL) $(WEB)/.done
	@node tools/web_size.mjs $(WEB)

npm:
	$(SETUP) web
	$(COMPILE_ALL) $(WEB)/.done
	@sh tools/npm_package.sh $(BUILD)

$(BUILD)/wasm/%.o: %.c Makefile | $(BUILD)/gen/kernels.h
	@echo '  wasm $<'
	@mkdir -p $(@D)
	$(WASM_CC) $(WASM_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/wasm/%.o: $(BUILD)/gen/%.c Makefile | $(BUILD)/gen/kernels.h
	@echo '  wasm $<'
	@mkdir -p $(@D)
	$(WASM_CC) $(WASM_FLAGS) -c $< -o $@

$(BUILD)/gen/kernels_web.c $(BUILD)/gen/kernels_sim.c $(BUILD)/gen/kernels_torch.c: $(BUILD)/gen/kernels_%.c: tools/pack_text.mjs $(KERNEL_TOOLS) $(shell find kernels)
	@echo '  gen  $@'
	node tools/kernels.mjs $@ $*

$(BUILD)/wasm/linked.wasm: $(WEB_OBJECTS)
$(BUILD)/wasm/linked-sim.wasm: $(SIM_OBJECTS)
$(BUILD)/wasm/linked-torch.wasm: $(TORCH_OBJECTS)
$(BUILD)/wasm/linked-chat.wasm: $(CHAT_OBJECTS)
STACK = 262144
# templates nest JINJA_MAX_DEPTH deep
$(BUILD)/wasm/linked-chat.wasm: STACK = 2097152
$(BUILD)/wasm/linked.wasm $(BUILD)/wasm/linked-sim.wasm $(BUILD)/wasm/linked-torch.wasm $(BUILD)/wasm/linked-chat.wasm:
	@echo '  link $@'
	$(WASM_CC) --target=wasm32-wasi -mexec-model=reactor -Wl,--gc-sections,--global-base=1024,-z,stack-size=$(STACK) $^ -o $@

$(WEB)/solo.wasm $(WEB)/solo-asyncify.wasm: $(BUILD)/wasm/linked.wasm
$(WEB)/solo-sim.wasm $(WEB)/solo-sim-asyncify.wasm: $(BUILD)/wasm/linked-sim.wasm
$(WEB)/solo-torch.wasm $(WEB)/solo-torch-asyncify.wasm: $(BUILD)/wasm/linked-torch.wasm
$(WEB)/solo-chat.wasm: $(BUILD)/wasm/linked-chat.wasm
$(WEB)/solo-asyncify.wasm $(WEB)/solo-sim-asyncify.wasm $(WEB)/solo-torch-asyncify.wasm: OPT_FLAGS += --asyncify --pass-arg=asyncify-imports@$(SUSPENDING)
$(WEB)/solo-asyncify.wasm: OPT_FLAGS += --pass-arg=asyncify-removelist@@$(ASYNCIFY_REMOVELIST) -Oz
$(WEB)/solo-asyncify.wasm: $(ASYNCIFY_REMOVELIST)
$(WEB)/solo-torch-asyncify.wasm: OPT_FLAGS += --pass-arg=asyncify-removelist@@$(ASYNCIFY_REMOVELIST:.txt=_torch.txt) -Oz
$(WEB)/solo-torch-asyncify.wasm: $(ASYNCIFY_REMOVELIST:.txt=_torch.txt)
$(WEB)/solo.wasm $(WEB)/solo-asyncify.wasm $(WEB)/solo-sim.wasm $(WEB)/solo-sim-asyncify.wasm $(WEB)/solo-torch.wasm $(WEB)/solo-torch-asyncify.wasm $(WEB)/solo-chat.wasm:
	@echo '  opt  $@'
	@mkdir -p $(@D)
	$(WASM_OPT) $(OPT_FLAGS) $< -o $@

$(WEB)/reference.json: tools/web_reference.mjs $(shell find results -name '*.json')
	@echo '  gen  $@'
	@mkdir -p $(@D)
	node tools/web_reference.mjs $@

$(WEB)/.done: $(WEB)/solo.wasm $(WEB)/solo-asyncify.wasm $(WEB)/solo-sim.wasm $(WEB)/solo-sim-asyncify.wasm $(WEB)/solo-torch.wasm $(WEB)/solo-torch-asyncify.wasm $(WEB)/solo-chat.wasm $(WEB)/reference.json $(WEB_FILES) $(WEB_LIBRARIES) models/builtin.gguf Makefile
	@echo '  copy $(WEB)'
	cp $(WEB_FILES) models/builtin.gguf $(WEB)/
	grep -v '^//# sourceMappingURL' node_modules/marked/lib/marked.esm.js >$(WEB)/marked.js
	grep -v '^//# sourceMappingURL' node_modules/dompurify/dist/purify.min.js >$(WEB)/purify.js
	sed -i "s/@BUILD@/$$(cat $(filter-out Makefile,$^) | sha256sum | cut -c 1-12)/" $(WEB)/sw.js
	touch $@

-include $(OBJECTS:.o=.d) $(WEB_OBJECTS:.o=.d) $(SIM_OBJECTS:.o=.d) $(TORCH_OBJECTS:.o=.d) $(CHAT_OBJECTS:.o=.d) $(TEST_PROGRAMS:=.d)

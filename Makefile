# gradc: `make` builds build/gradc and build/libgradc.a; `make help` lists the rest.

.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1.0
BUILD ?= build
ifeq ($(origin CC),default)
CC := cc
endif
AR ?= ar
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL ?= install
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
FLEX ?= flex
BISON ?= bison
export CC LLVM_CONFIG LLVM_LINK

# One short line a file, unless V=1 asks for the commands.
Q := $(if $(V),,@)
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(V)$(silent),,@printf '  %-6s %s\n' $(1) $@;)

OPTIMISE ?= -O2 -g
WARNINGS := -Wall -Wextra -Wpedantic -Werror
ALL_CFLAGS = -std=c11 $(WARNINGS) $(OPTIMISE) $(CFLAGS) $(SANITIZE) -ffunction-sections -fdata-sections
ALL_CPPFLAGS = -I. -I$(BUILD) '-DGRADC_VERSION="$(VERSION)"' $(CPPFLAGS) -MMD -MP
ALL_LDFLAGS = -Wl,--gc-sections $(LDFLAGS) $(SANITIZE)

# -- What there is to build: every room's files, as they stand -----------------------------------------------------------
rooms = $(foreach room,$(1),$(wildcard $(room)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

COMPILER_SOURCES := $(call rooms,ir frontend passes codegen)
GENERATED := $(if $(wildcard frontend/lexer.l),$(BUILD)/frontend/lexer.c) \
             $(if $(wildcard frontend/parser.y),$(BUILD)/frontend/parser.c)
GENERATED_OBJECTS := $(GENERATED:.c=.o)
COMPILER_OBJECTS := $(call objects,$(COMPILER_SOURCES)) $(GENERATED_OBJECTS)
DRIVER_OBJECTS := $(call objects,$(call rooms,driver))
RUNTIME_OBJECTS := $(call objects,$(call rooms,runtime))
TOOL_SOURCES := $(call rooms,tools)
TOOLS := $(patsubst tools/%.c,$(BUILD)/tools/%,$(TOOL_SOURCES))
FUZZER := $(BUILD)/tools/gradc-fuzz
FUZZER_OBJECTS := $(call objects,$(call rooms,tools/fuzz)) $(filter-out $(BUILD)/driver/main.o,$(DRIVER_OBJECTS))
LIBRARY := $(wildcard lib/*.ad)

# The build folder has the shape of an installation, so that build/gradc finds its header and library by the same steps.
STAGED := $(BUILD)/include/gradc.h $(patsubst lib/%,$(BUILD)/share/gradc/%,$(LIBRARY))

# Nothing is built before a room has files: gradc itself appears with the driver.
PROGRAM := $(if $(DRIVER_OBJECTS),$(BUILD)/gradc)

.PHONY: all
all: $(PROGRAM) $(BUILD)/libgradc.a $(TOOLS) $(FUZZER) $(STAGED)

# -- What is needed, installed or named ------------------------------------------------------------------------------------
# Asked once a build folder; the stamps and config.mk follow the scripts that make them.
$(BUILD)/.deps: tools/install-deps.sh tools/find-llvm.sh
	@mkdir -p $(@D)
	@sh tools/install-deps.sh build
	@touch $@

$(BUILD)/.deps-%: tools/install-deps.sh $(BUILD)/.deps
	@mkdir -p $(@D)
	@sh tools/install-deps.sh $*
	@touch $@

$(BUILD)/config.mk: $(BUILD)/.deps tools/find-llvm.sh
	@sh tools/find-llvm.sh make >$@

# Goals that neither compile nor link need no LLVM.
PLAIN_GOALS := clean help layers format format-check uninstall asan
ifneq ($(filter-out $(PLAIN_GOALS),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/config.mk
endif

.PHONY: deps
deps:
	@sh tools/install-deps.sh build demo test

# -- Compiling -------------------------------------------------------------------------------------------------------------
# An object follows the generated headers, which any file may include, and the flags by way of this file.
HEADERS := $(GENERATED:.c=.h)

$(BUILD)/%.o: %.c Makefile | $(BUILD)/.deps $(HEADERS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ROOM_CFLAGS) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/codegen/%.o $(BUILD)/driver/run%.o: ROOM_CFLAGS = $(LLVM_CFLAGS)
$(BUILD)/runtime/%.o: ROOM_CFLAGS = -fPIC
$(BUILD)/codegen/%.o $(BUILD)/driver/run%.o: $(BUILD)/config.mk

$(BUILD)/frontend/%.c $(BUILD)/frontend/%.h &: frontend/%.l | $(BUILD)/.deps
	@mkdir -p $(@D)
	$(call say,FLEX)
	$(Q)$(FLEX) -o $(BUILD)/frontend/$*.c --header-file=$(BUILD)/frontend/$*.h $<

$(BUILD)/frontend/%.c $(BUILD)/frontend/%.h &: frontend/%.y | $(BUILD)/.deps
	@mkdir -p $(@D)
	$(call say,BISON)
	$(Q)$(BISON) -Wall -Werror -o $(BUILD)/frontend/$*.c --defines=$(BUILD)/frontend/$*.h $<

# What flex and bison write does not meet our warnings, and is not ours to mend.
$(GENERATED_OBJECTS): $(BUILD)/frontend/%.o: $(BUILD)/frontend/%.c Makefile | $(HEADERS)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CPPFLAGS) -Ifrontend $(ALL_CFLAGS) -Wno-sign-compare -Wno-unused-function \
	  -Wno-unused-but-set-variable -c $< -o $@

# -- Linking ---------------------------------------------------------------------------------------------------------------
# As archives, so that a test tool that does not generate code does not carry LLVM.
$(BUILD)/libcompiler.a: $(COMPILER_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libgradc.a: $(RUNTIME_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

# A program at a fixed address needs none of the quarter of a million relocations of LLVM's tables, and starts in half the
# time (5 ms against 10).
FIXED := $(if $(shell echo 'int main(void) { return 0; }' | $(CC) -no-pie -x c - -o /dev/null 2>/dev/null && echo y),-no-pie)

LINK = $(CC) $(FIXED) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libcompiler.a $(BUILD)/libgradc.a $(LLVM_LIBS) -lm -lpthread

$(BUILD)/gradc: $(DRIVER_OBJECTS) $(BUILD)/libcompiler.a $(BUILD)/libgradc.a $(BUILD)/config.mk
	$(call say,LINK)
	$(Q)$(LINK)

$(TOOLS): $(BUILD)/tools/%: $(BUILD)/tools/%.o $(BUILD)/libcompiler.a $(BUILD)/libgradc.a $(BUILD)/config.mk
	$(call say,LINK)
	$(Q)$(LINK)

$(FUZZER): $(FUZZER_OBJECTS) $(BUILD)/libcompiler.a $(BUILD)/libgradc.a $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK)

$(BUILD)/include/%: runtime/%
	@mkdir -p $(@D)
	@cp $< $@

$(BUILD)/share/gradc/%: lib/%
	@mkdir -p $(@D)
	@cp $< $@

# -- GradBench's tool: a program in the language for each problem, and a C program that calls them -----------------------
GRADBENCH := $(BUILD)/gradbench
GRADBENCH_PROGRAMS := ba det gmm hello ht kmeans llsq lse lstm ode particle saddle
GRADBENCH_OBJECTS := $(call objects,$(call rooms,bench/gradbench))
GRADBENCH_AD := $(GRADBENCH_PROGRAMS:%=$(GRADBENCH)/%.o)

.PHONY: gradbench
gradbench: $(GRADBENCH)/gradbench

$(GRADBENCH)/%.o $(GRADBENCH)/%.h &: bench/gradbench/%.ad bench/gradbench/descent.ad $(BUILD)/gradc
	@mkdir -p $(@D)
	$(call say,GRADC)
	$(Q)$(BUILD)/gradc $< -o $(GRADBENCH)/$*.o

$(GRADBENCH_OBJECTS): $(GRADBENCH_AD)
$(GRADBENCH_OBJECTS): ROOM_CFLAGS = -Iruntime -I$(GRADBENCH)

$(GRADBENCH)/gradbench: $(GRADBENCH_OBJECTS) $(GRADBENCH_AD) $(BUILD)/libgradc.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(GRADBENCH_OBJECTS) $(GRADBENCH_AD) $(BUILD)/libgradc.a -lm -lpthread

# -- The table of measurements ---------------------------------------------------------------------------------------------
# Against C written by hand, by clang where it is there, and the peers that `make bench-peers` installs. ROWS: words of names.
BENCH := $(BUILD)/table
BENCH_CC ?= $(firstword $(wildcard $(shell sh tools/find-llvm.sh bindir)/clang) $(shell command -v clang-19) $(CC))
BENCH_SOURCES := $(wildcard bench/rows_*.c) bench/table.c bench/peer.c bench/peak.c bench/row.c bench/by_hand.c
BENCH_OBJECTS := $(patsubst bench/%.c,$(BENCH)/%.o,$(BENCH_SOURCES)) $(BENCH)/memory.o
BENCH_AD := $(patsubst %,$(BENCH)/%.ad.o,networks simulations small sparse) $(GRADBENCH_AD)
BENCH_FLAGS := -std=gnu11 -O3 -march=native $(WARNINGS) -Wno-pass-failed -MMD -Ibench -I$(BENCH) -I$(GRADBENCH) -Iruntime
PEERS := $(BUILD)/peers
TAPED := $(addprefix $(BENCH)/taped-,ADOL-C Sacado)

.SECONDARY: $(BENCH_AD)
.PHONY: bench bench-peers bench-compile
bench-compile: all
	@$(PYTHON) bench/compile.py $(PROGRAM) $(ROWS)
bench: $(BENCH)/table $(TAPED)
	@BENCH_CC="$(BENCH_CC)" $(BENCH)/table $(PEERS)/bin/python bench/peers.py $(BENCH)/taped $(ROWS)

# Prints what could not be installed and goes on: the table has dashes there.
bench-peers:
	@$(PYTHON) -m venv $(PEERS)
	@for package in torch==2.13.0 "jax jaxlib" casadi; do \
	  $(PEERS)/bin/pip install -q --disable-pip-version-check $$package || echo "bench-peers: without $$package"; \
	done
	@sh tools/install-deps.sh peers || echo "bench-peers: without ADOL-C or Sacado"

# Peers in C++; one whose library is not there is not made. Sacado's headers need those of MPI.
TAPED_FLAGS := -std=c++17 -O3 -march=native -Wall -Wextra -Ibench/taped
$(BENCH)/taped-ADOL-C: bench/taped/adolc.cpp $(wildcard bench/taped/*.hpp)
	@mkdir -p $(@D)
	@$(CXX) $(TAPED_FLAGS) $< -o $@ -ladolc 2>$@.log || echo "bench: without ADOL-C (make bench-peers)"

$(BENCH)/taped-Sacado: bench/taped/sacado.cpp $(wildcard bench/taped/*.hpp)
	@mkdir -p $(@D)
	@mpicxx $(TAPED_FLAGS) -DOMPI_SKIP_MPICXX -isystem /usr/include/trilinos $< -o $@ \
	  $(addprefix -ltrilinos_teuchos,core parameterlist comm parser) 2>$@.log || echo "bench: without Sacado (make bench-peers)"

$(BENCH)/%.ad.o: bench/%.ad $(BUILD)/gradc $(STAGED)
	@mkdir -p $(@D)
	$(call say,GRADC)
	$(Q)$(BUILD)/gradc $< -o $(BENCH)/$*.o && mv $(BENCH)/$*.o $@

$(BENCH)/%.o: bench/%.c $(BENCH_AD) Makefile
	$(call say,CC)
	$(Q)$(BENCH_CC) $(BENCH_FLAGS) -c $< -o $@

$(BENCH)/%.o: bench/gradbench/%.c $(BENCH_AD) Makefile
	$(call say,CC)
	$(Q)$(BENCH_CC) $(BENCH_FLAGS) -c $< -o $@

$(BENCH)/table: $(BENCH_OBJECTS) $(BUILD)/libgradc.a
	$(call say,LINK)
	$(Q)$(BENCH_CC) -o $@ $(BENCH_OBJECTS) $(BENCH_AD) $(BUILD)/libgradc.a -lm -lpthread

# -- Demo and tests ----------------------------------------------------------------------------------------------------------
DEMOS := digits gmm

.PHONY: demo
demo: all $(BUILD)/.deps-demo
	@for demo in $(DEMOS); do \
	  echo; echo "== examples/$$demo"; \
	  $(MAKE) --no-print-directory -C examples/$$demo GRADC=$(abspath $(BUILD))/gradc OUT=$(abspath $(BUILD))/examples/$$demo run \
	    || exit 1; \
	done

# test is everything; check the quick part of it, for every commit.
.PHONY: test check
test: all gradbench $(BUILD)/.deps-test $(BUILD)/.deps-demo
	@PYTHON=$(PYTHON) LLVM_BINDIR=$(LLVM_BINDIR) GRADC_BUILD=$(abspath $(BUILD)) SANITIZE="$(SANITIZE)" sh tools/run-tests.sh $(TESTS)

check: all gradbench $(BUILD)/.deps-test
	@PYTHON=$(PYTHON) LLVM_BINDIR=$(LLVM_BINDIR) GRADC_BUILD=$(abspath $(BUILD)) SANITIZE="$(SANITIZE)" GRADC_QUICK=1 sh tools/run-tests.sh $(TESTS)

# Random programs, run in several ways that must agree: tools/fuzz/fuzz.h.
N ?= 1000
SEED ?= 1
.PHONY: fuzz
fuzz: $(FUZZER) $(STAGED)
	@$(FUZZER) -n $(N) -s $(SEED) $(FUZZ_FLAGS)

# Programs with faults put in, which must be refused in order: the texts of the tests and of the library.
.PHONY: spoil
SPOILED = $(shell find tests lib -name '*.ad' -size -6k -o -name '*.ir' -size -8k)
spoil: $(FUZZER) $(STAGED)
	@$(FUZZER) -n $(N) -s $(SEED) $(FUZZ_FLAGS) --spoil $(SPOILED)

# Faults planted one by one in a copy, which the tests have to catch: tests/mutants.
.PHONY: mutants stage
stage: $(STAGED)

mutants: $(BUILD)/.deps-test
	@$(PYTHON) tools/mutants.py . $(abspath $(BUILD))/mutants $(MUTANT_FLAGS) $(or $(MUTANTS),$(wildcard tests/mutants/*.txt))

.PHONY: asan
asan:
	@ASAN_OPTIONS=$${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=$${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1} \
	  $(MAKE) BUILD=build-asan OPTIMISE="-O1 -g" \
	  SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" test

# -- The house ---------------------------------------------------------------------------------------------------------------
OURS := $(wildcard ir/*.[ch] ir/*.def frontend/*.[ch] passes/*.[ch] codegen/*.[ch] driver/*.[ch] runtime/*.[ch] \
          tools/*.c tools/*/*.[ch] examples/*/*.c tests/*/*.[ch] bench/*.[ch] bench/*/*.[ch])
CLANG_FORMAT = $(firstword $(wildcard $(shell sh tools/find-llvm.sh bindir)/clang-format) clang-format-19)
CLANG_TIDY = $(firstword $(wildcard $(LLVM_BINDIR)/clang-tidy) clang-tidy-19)

.PHONY: layers format format-check tidy
layers:
	@sh tools/layers.sh

format: $(BUILD)/.deps-format
	$(CLANG_FORMAT) -i $(filter %.c %.h,$(OURS))

format-check: $(BUILD)/.deps-format
	$(CLANG_FORMAT) --dry-run -Werror $(filter %.c %.h,$(OURS))

tidy: all $(BUILD)/.deps-tidy
	$(CLANG_TIDY) --quiet $(COMPILER_SOURCES) $(call rooms,driver runtime tools) -- \
	  -std=c11 -I. -I$(BUILD) '-DGRADC_VERSION="$(VERSION)"' $(LLVM_CFLAGS)

# -- Installing --------------------------------------------------------------------------------------------------------------
bindir := $(PREFIX)/bin
libdir := $(PREFIX)/lib
includedir := $(PREFIX)/include
datadir := $(PREFIX)/share/gradc
mandir := $(PREFIX)/share/man/man1
pkgconfigdir := $(libdir)/pkgconfig
cmakedir := $(libdir)/cmake/gradc
FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g'

.PHONY: install uninstall
install: all
	$(INSTALL) -d $(addprefix $(DESTDIR),$(bindir) $(includedir) $(datadir) $(mandir) $(pkgconfigdir) $(cmakedir))
	$(INSTALL) -m 755 $(BUILD)/gradc $(DESTDIR)$(bindir)/gradc
	$(INSTALL) -m 644 $(BUILD)/libgradc.a $(DESTDIR)$(libdir)/libgradc.a
	$(INSTALL) -m 644 runtime/gradc.h $(DESTDIR)$(includedir)/gradc.h
	$(if $(LIBRARY),$(INSTALL) -m 644 $(LIBRARY) $(DESTDIR)$(datadir)/)
	$(FILL) tools/package/gradc.1.in >$(DESTDIR)$(mandir)/gradc.1
	$(FILL) tools/package/gradc.pc.in >$(DESTDIR)$(pkgconfigdir)/gradc.pc
	$(FILL) tools/package/gradc-config.cmake.in >$(DESTDIR)$(cmakedir)/gradc-config.cmake
	$(FILL) tools/package/gradc-config-version.cmake.in >$(DESTDIR)$(cmakedir)/gradc-config-version.cmake

uninstall:
	rm -f $(DESTDIR)$(bindir)/gradc $(DESTDIR)$(libdir)/libgradc.a $(DESTDIR)$(includedir)/gradc.h
	rm -f $(DESTDIR)$(mandir)/gradc.1 $(DESTDIR)$(pkgconfigdir)/gradc.pc
	rm -rf $(DESTDIR)$(datadir) $(DESTDIR)$(cmakedir)

.PHONY: clean help
clean:
	rm -rf $(filter-out . ./ .. /,$(BUILD)) build-asan

help:
	@echo "make            build/gradc, build/libgradc.a and the test tools"
	@echo "make demo       train classifiers and fit a mixture with generated gradients"
	@echo "make test       all tests; ends with 'N passed, N failed'.  TESTS=tests/grad: those alone"
	@echo "make check      the quick part of the tests"
	@echo "make bench      measures derivatives against C by hand and peers; make bench-peers installs those"
	@echo "make bench-compile  measures how long compiling takes, of files that grow"
	@echo "make gradbench  build/gradbench/gradbench, which speaks GradBench's protocol"
	@echo "make asan       all tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make fuzz       random programs, run in several ways that must agree (N, SEED); make spoil: faulty ones"
	@echo "make install    into PREFIX (/usr/local), under DESTDIR; make uninstall"
	@echo "make deps       install what building and testing need, nothing else"
	@echo "make layers, format, format-check, tidy, clean"
	@echo "Variables: BUILD, CC, CFLAGS, LDFLAGS, PREFIX, DESTDIR, LLVM_CONFIG (of LLVM 19), LLVM_LINK=shared, V=1"

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/tools/*/*.d $(BUILD)/bench/*/*.d)

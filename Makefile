# subsalt: everything a developer or a first-time user types. Needs a C++ compiler and Python 3.11+ with venv; no root.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
# where `make wheel` puts what can be installed
DIST ?= dist
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.subsalt-setup
CXX_FOUND := $(shell command -v $${CXX:-c++} || command -v g++ || command -v clang++)
# the interpreter for a new venv: the first that is at least 3.11
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
PIP_FLAGS := -q --disable-pip-version-check -c constraints.txt
NATIVE_SOURCES := $(shell find native packages/lab/src tests/lab/programs tests/cuda benchmarks -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null)
CASES ?= iso-256 vti-256
SPHINX := sphinx myst-parser pydata-sphinx-theme numpydoc sphinx-design
CUDA_WHEELS := nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-nvvm

.PHONY: help setup build levels-check bytecode emulated emulated-sanitize cuda cuda-check wheel wheel-cuda wheel-proof aarch64-proof cuda-sanitize bench-gpu gpu-kit gpu-rehearsal test test-all test-libraries mutants lint lint-types lint-rest docs demo schema sanitize sanitize-thread fuzz soak soak-bits prove-cures prove-flips prove-workers prove-slurm prove-topography prove-gathers prove-lsrtm prove-reflections memcheck bench-kernels bench-peers bench-accuracy bench-founding bench-kirchhoff bench-line founding-job clean

help: ## show these targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(STAMP) ## create the virtual environment, install the pinned packages (those of the site too), compile the kernels

# LEVELS=here compiles kernels for those levels of x86-64 that this machine can run, LEVELS=all for all again; without it a
# build has what it had, at first all
$(STAMP): pyproject.toml packages/lab/pyproject.toml constraints.txt CMakeLists.txt
	@[ -n "$(PYTHON)" ] || { echo "subsalt needs Python 3.11 or newer; install it, or name one: make PYTHON=/path/to/python3 setup" >&2; exit 1; }
	@[ -n "$(CXX_FOUND)" ] || { echo "subsalt needs a C++20 compiler; install g++ or clang, or name one: CXX=/path/to/c++ make setup" >&2; exit 1; }
	@[ -x $(PY) ] || $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module; on Debian or Ubuntu install python3-venv" >&2; exit 1; }
	@[ -x $(PY) ] || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing pinned packages and compiling the kernels"
	@$(PY) -m pip install $(PIP_FLAGS) pip setuptools
	@$(PY) -m pip install $(PIP_FLAGS) scikit-build-core nanobind ninja cmake
	@$(PY) -m pip uninstall -q -y --disable-pip-version-check subsalt 2>/dev/null # the name of the distribution up to 0.7
	@$(if $(LEVELS),SKBUILD_CMAKE_DEFINE=SUBSALT_LEVELS=$(LEVELS)) PATH="$(abspath $(BIN)):$$PATH" \
	$(PY) -m pip install $(PIP_FLAGS) --no-build-isolation -e '.[dev,mpi,docs]' -e packages/lab
	@touch $@

build: $(STAMP) ## compile what changed in native/ and put it into the virtual environment: [LEVELS=here]
	@tree=build/$$($(PY) -c 'import sys; print(sys.implementation.cache_tag)'); \
	[ -f $$tree/CMakeCache.txt ] || { rm -f $(STAMP); $(MAKE) --no-print-directory setup; }; \
	$(if $(LEVELS),$(CMAKE) -DSUBSALT_LEVELS=$(LEVELS) $$tree >/dev/null;) \
	PATH="$(abspath $(BIN)):$$PATH" cmake --build $$tree --target _native -j 2; \
	so=$$(ls $$tree/_native*.so); to=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/subsalt; \
	cmp -s $$so $$to/$${so##*/} || { cp $$so $$to/.new.so && mv -f $$to/.new.so $$to/$${so##*/}; }

levels-check: build ## let the compiler read the kernels that LEVELS=here left out
	@$(CMAKE) --build build/$$($(PY) -c 'import sys; print(sys.implementation.cache_tag)') --target levels_left_out

# what the plug-in for GPUs is asked for at load: another version is refused
VERSION = $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/subsalt/__init__.py)
CMAKE = PATH="$(abspath $(BIN)):$$PATH" cmake
# nvcc of the system, of CUDA_HOME, or of the wheels of the extra cuda-build
NVCC = $$(command -v nvcc || ls $${CUDA_HOME:-/usr/local/cuda}/bin/nvcc $(VENV)/lib/python3.*/site-packages/nvidia/cu*/bin/nvcc 2>/dev/null | head -1 || true)

emulated: $(STAMP) ## compile the device code for the host, assembly replaced: the device of the tests where there is no GPU
	@$(CMAKE) -S native/cuda -B build/emulated -G Ninja -DSUBSALT_EMULATED=ON -DSUBSALT_VERSION="$(VERSION)" >/dev/null
	@$(CMAKE) --build build/emulated -j 2

emulated-sanitize: build ## run the device tests on the emulated device under the sanitizers: TESTS=tests/cuda/test_points.py
	@$(CMAKE) -S native/cuda -B build/emulated-sanitize -G Ninja -DSUBSALT_EMULATED=ON -DSUBSALT_SANITIZE=ON -DSUBSALT_VERSION="$(VERSION)" >/dev/null
	@$(CMAKE) --build build/emulated-sanitize -j 2
	@# threads of a block have stacks of their own, which the sanitizer need not follow, and says so on standard error: the
	@# tests that look at what other ranks say there are left out
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 PYTHONMALLOC=malloc OMP_NUM_THREADS=1 \
	SUBSALT_EMULATED_PLUGIN=build/emulated-sanitize/libsubsalt_cuda_emulated.so $(BIN)/pytest -q -x -n0 -p no:cacheprovider $(or $(TESTS),tests/cuda --ignore=tests/cuda/test_migrate_on_gpus.py)

cuda: build ## compile the plug-in for GPUs, with the CUDA compiler of the system or, where it has none, of PyPI
	@[ -n "$(NVCC)" ] || { echo "no nvcc: installing the compiler wheels (extra cuda-build)"; $(PY) -m pip install $(PIP_FLAGS) $(CUDA_WHEELS); }
	@$(MAKE) --no-print-directory cuda-check
	@to=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/subsalt; \
	cp build/cuda/libsubsalt_cuda.so $$to/.new-cuda.so && mv -f $$to/.new-cuda.so $$to/libsubsalt_cuda.so
	@$(BIN)/subsalt doctor | grep -i gpu

# generations of GPUs for which `cuda-check` makes machine code; always told to CMake, which would keep those of the last time
SM = 80 90 100
TARGETS = $(addsuffix -real;,$(SM))80-virtual
empty :=
cuda-check: $(STAMP) ## compile all device code for sm_80, sm_90, sm_100 and PTX, where there is a CUDA compiler: [SM=80]
	@nvcc="$(NVCC)"; [ -n "$$nvcc" ] || { echo "no CUDA compiler here: device code not compiled (make cuda fetches one)"; exit 0; }; \
	CUDACXX=$$nvcc $(CMAKE) -S native/cuda -B build/cuda -G Ninja -DSUBSALT_VERSION="$(VERSION)" -DSUBSALT_KEEP_PTX=ON \
		-DCMAKE_CUDA_ARCHITECTURES="$(subst $(empty) ,,$(TARGETS))" >/dev/null && \
	$(CMAKE) --build build/cuda -j 2 && find build/cuda/kept -type f ! -name '*.ptx' -delete && \
	$(PY) native/cuda/check_ptx.py $$nvcc build/cuda/libsubsalt_cuda.so --kept build/cuda/kept --sm $(SM)

wheel: $(STAMP) ## source distributions and wheels into dist/, audited and checked: [PYTHONS="python3.11 /path/to/python3.13"]
	@$(PY) packages/wheels.py --out $(DIST) $(if $(PYTHONS),--python $(PYTHONS))

wheel-cuda: $(STAMP) ## the plug-in for GPUs as a wheel into dist/; needs nvcc
	@$(PY) packages/wheels.py --out $(DIST) --cuda

wheel-proof: $(STAMP) ## as root: the wheels of dist/ in a bare Debian, no compiler, no network: doctor and demo: [SUITE=trixie] [PUBLISH=1]
	@$(PY) packages/wheel_proof.py --dist $(DIST) --suite $(or $(SUITE),bookworm) \
		--json $(if $(PUBLISH),docs/performance,build)/wheel-proof-$(or $(SUITE),bookworm).json

aarch64-proof: $(STAMP) ## the kernels for 64-bit ARM (NEON) under QEMU: the jobs of the record and the demo, bytes as on x86-64; root the first time: [ONLY="2-D"] [KEPT=1] [PUBLISH=1]
	@$(PY) packages/aarch64_proof.py $(if $(ONLY),--only "$(ONLY)") $(if $(KEPT),--kept) --json $(if $(PUBLISH),docs/performance,build)/aarch64-proof.json

cuda-sanitize: cuda ## on a machine with a GPU: the device tests under compute-sanitizer, memory and races
	@command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is part of the CUDA toolkit; put it on PATH" >&2; exit 1; }
	for tool in memcheck racecheck synccheck initcheck; do \
		OMP_NUM_THREADS=1 compute-sanitizer --tool $$tool --error-exitcode 99 $(PY) -m pytest -n0 -m gpu tests/cuda; done

# tests start hundreds of interpreters: where PYTHONDONTWRITEBYTECODE is set, each would compile all modules again
bytecode: $(STAMP)
	@$(PY) -m compileall -q src packages/lab/src

# four processes on two cores: tests of ranks wait, for silence or a signal, a quarter of their time and more
test: build emulated bytecode ## run all tests
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest --forks 4

test-all: LEVELS = all
test-all: build emulated bytecode cuda-check ## all tests with nothing skipped but those for a GPU and of test-libraries: says first which Debian packages are missing
	@$(PY) tests/everything.py $(TESTS)

# beside the virtual environment, whose packages it sees too: constraints-libraries.txt has only what comes on top
LIBRARIES := build/libraries
test-libraries: build ## test what subsalt does with xarray, ObsPy, PyTorch, PyLops and Jupyter, in an environment of its own: 3 GB to fetch
	@[ -x $(LIBRARIES)/bin/python ] || $(PY) -m venv $(LIBRARIES)
	@cmp -s constraints-libraries.txt $(LIBRARIES)/installed.txt || { echo "installing constraints-libraries.txt into $(LIBRARIES)"; \
		$(LIBRARIES)/bin/python -m pip install -q --disable-pip-version-check --no-deps -r constraints-libraries.txt; \
		cp constraints-libraries.txt $(LIBRARIES)/installed.txt; }
	@for site in $(LIBRARIES)/lib/python3.*/site-packages; do \
		$(PY) -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("platlib"))' > $$site/subsalt.pth; done
	@# mpi4py looks for MPICH below the prefix of its Python, which is another one here
	MPI4PY_LIBMPI="$(abspath $(VENV))/lib/libmpi.so.12" \
	PATH="$(abspath $(BIN)):$$PATH" PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(LIBRARIES)/bin/python -m pytest -n 2 -m library -rs tests/libraries tests/docs/test_snippets.py

mutants: build emulated ## plant 71 faults into a copy, one by one, and run the tests that must notice: [ONLY="Kaiser"]
	@$(PY) tests/mutants $(if $(ONLY),"$(ONLY)")

lint: $(STAMP) ## style, types, layers, spelling, words of the documentation
	@# types take as long as all the rest
	@$(MAKE) --no-print-directory --output-sync -j 2 lint-types lint-rest

lint-types:
	$(BIN)/mypy

lint-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(NATIVE_SOURCES)
	$(PY) docs/check_words.py
	$(PY) benchmarks/house.py --hold
	@# misspelt on purpose in tests of "did you mean"; statics are corrections of traces
	$(BIN)/codespell -S 'docs/demo-shot.html,*/data/*' -L chek,mdoel,netwrok,numer,statics,fo,outptu,imagin,apperture,windowz,equil,fpr,trough,boundery src packages tests native docs examples benchmarks *.md Makefile CMakeLists.txt

docs: $(STAMP) ## build the documentation as a site in build/docs: warnings, broken links and anchors are errors
	@$(PY) -c 'import sphinx, myst_parser, pydata_sphinx_theme, numpydoc, sphinx_design' 2>/dev/null || $(PY) -m pip install $(PIP_FLAGS) $(SPHINX)
	$(PY) docs/check_words.py
	$(PY) docs/site/build.py
	@echo "open build/docs/index.html"

demo: build ## model, write SEG-Y, migrate, and show how far each known reflector is off
	$(BIN)/subsalt demo --out demo

schema: $(STAMP) ## write the JSON Schema of job files anew
	$(PY) -m subsalt.job.schema

sanitize: $(STAMP) ## run the kernel tests on a build with the address and undefined-behaviour sanitizers
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/sanitize -G Ninja -DSUBSALT_SANITIZE=ON -DPython_EXECUTABLE=$(abspath $(PY))
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitize -j 2
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	PYTHONMALLOC=malloc OMP_NUM_THREADS=2 $(PY) tests/native/sanitized.py build/sanitize

sanitize-thread: $(STAMP) ## run the tests of segments and snapshots on a build with the thread sanitizer
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/sanitize-thread -G Ninja -DSUBSALT_SANITIZE_THREAD=ON -DPython_EXECUTABLE=$(abspath $(PY))
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitize-thread -j 2
	@# OMP_THREAD_LIMIT: only the segments run on many threads, for libgomp hides its synchronisation from the sanitizer;
	@# setarch: gcc 12 refuses the address randomisation of recent kernels
	LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1:exitcode=66 OMP_THREAD_LIMIT=1 \
	setarch "$$(uname -m)" -R $(PY) tests/native/sanitized.py build/sanitize-thread test_segment.py checkpoint/test_pool.py checkpoint/test_stores.py

prove-topography: build ## random surfaces over random velocities, 200 x 20,000 steps: does a wave grow? writes docs/performance/prove-topography.json
	@OMP_NUM_THREADS=1 $(PY) benchmarks/prove_topography.py

prove-gathers: build ## is a 4 % error of one layer found to 0.5 %, and its base put in place, by one command, in 2-D and 3-D: [PARTS=line,box,cost,marmousi] [PUBLISH=1]
	$(PY) benchmarks/prove_gathers.py $(if $(PARTS),--parts $(PARTS)) $(if $(PUBLISH),--json docs/performance/prove-gathers.json)

prove-lsrtm: build ## does least-squares migration explain Born data, scattered data and no noise: [PARTS=born,scattered,noise] [PUBLISH=1]
	$(PY) benchmarks/prove_lsrtm.py $(if $(PARTS),--parts $(PARTS)) $(if $(PUBLISH),--json docs/performance/prove-lsrtm.json)

prove-cures: build ## plant every mistake, paste every cure that check prints, compare images: [JOBS=2] [PLANTED="38 swell"] [PUBLISH=1]
	@OMP_NUM_THREADS=1 $(PY) tests/check/planted --jobs $(or $(JOBS),2) $(if $(PUBLISH),--json docs/performance/prove-cures.json) $(PLANTED)
	@$(if $(PUBLISH),$(PY) docs/make_cures.py)

fuzz: build ## damaged files, jobs and runs: COUNT=20000 per format, JOBS=2000, RUNS=1000, SEED=1
	$(PY) tests/faults/fuzz_jobs.py --count $(or $(JOBS),2000) --seed $(or $(SEED),1)
	$(PY) tests/faults/fuzz_runs.py --count $(or $(RUNS),1000) --seed $(or $(SEED),1)
	$(PY) benchmarks/fuzz_segy.py --count $(or $(COUNT),20000) --seed $(or $(SEED),1)

soak: build ## strike runs at every file operation, at random times, on ranks and failing disks: SOAK="--out soak"
	OMP_NUM_THREADS=1 $(PY) tests/faults/soak.py $(SOAK)

soak-bits: build ## migrate the demo's shots on 1 to 5 ranks under load, stops and random batches; compare hashes: SOAK="--minutes 120"
	OMP_NUM_THREADS=1 $(PY) tests/faults/soak_bits.py $(SOAK)

prove-flips: build ## flip bits in every file of a stopped run: the same image or an error, never another: [FLIPS="--count 200"]
	OMP_NUM_THREADS=1 $(PY) tests/faults/prove_flips.py $(FLIPS)

prove-workers: build ## kill and freeze workers, scheduler and client of Dask while shots are migrated; compare bytes: [WORKERS="--minutes 30"], what it costs: WORKERS=--cost; needs the extra dask
	$(PY) tests/faults/prove_workers.py $(WORKERS)

prove-slurm: build ## an array of `submit` under a Slurm of this machine, one element requeued and one killed; compare bytes: needs root, slurmctld, slurmd, slurm-client, munge
	$(PY) tests/faults/prove_slurm.py $(SLURM)

memcheck: build ## small jobs of every medium under valgrind: nothing unwritten is read: MEMCHECK='"TTI 2-D"'
	$(PY) tests/native/memcheck.py $(MEMCHECK)

bench-kernels: build ## point-steps/s of every kernel, and its share of what the machine gives: LAB="--quick"
	$(BIN)/subsalt lab kernels $(LAB)

bench-peers: build ## times against Devito, Deepwave and PyLops, each in an environment of its own: CASES="iso-256 rtm2d kirchhoff lsrtm ..."
	@$(PY) benchmarks/peers/run.py $(CASES) $(if $(DEVICE),--device $(DEVICE)) $(if $(PUBLISH),--publish)

bench-accuracy: build ## time to a waveform right to 1 % after 40 wavelengths, against Devito: [MEDIA="iso vti tti"] [ROCK="--layer 120 ..."], a shot in rock
	@$(PY) benchmarks/$(if $(ROCK),accuracy_rock.py $(MEDIA) $(ROCK),accuracy.py $(MEDIA) $(if $(PUBLISH),--publish))

prove-reflections: build ## are reflections and shallow stations right on the grid that is chosen, at every order, in every medium: [ORDERS="8 12"] [PUBLISH=1]
	@$(PY) benchmarks/reflections.py $(if $(ORDERS),--orders $(ORDERS)) $(if $(PUBLISH),--json docs/performance/reflections.json)

bench-gpu: cuda ## on a machine with a GPU: is every answer right, and what is reached: FOLDER=/scratch/gpu [ONLY=kernels,founding] [MINUTES=45]
	@$(PY) benchmarks/gpu_first.py $(FOLDER) --work $(FOLDER)/work $(if $(ONLY),--only $(ONLY)) $(if $(MINUTES),--seconds $$((60 * $(MINUTES))))

gpu-kit: LEVELS = all
gpu-kit: build cuda-check ## pack what a bare machine with a GPU needs for a quarter of an hour: KIT=build/kit [PYTHON_THERE=3.12]
	@$(PY) benchmarks/gpu_kit.py pack $(or $(KIT),build/kit) $(if $(PYTHON_THERE),--python $(PYTHON_THERE))

gpu-rehearsal: build emulated ## all steps of bench-gpu on the emulated device, with grids of a few points: FOLDER=/tmp/rehearsal
	@$(PY) benchmarks/gpu_first.py $(FOLDER) --work $(FOLDER)/work --rehearse --again $(if $(ONLY),--only $(ONLY))

bench-founding: build ## the founding case, 125 x 1151 x 1231 VTI: STEPS=20 [ORDER=8] [BOUNDARY=pml] [STORAGE=f32]
	@$(PY) benchmarks/founding.py --steps $(or $(STEPS),20) $(if $(ORDER),--order $(ORDER)) \
		$(if $(BOUNDARY),--boundary $(BOUNDARY)) $(if $(STORAGE),--storage $(STORAGE)) $(if $(PUBLISH),--publish)

founding-job: build ## the founding small case as a job: FOLDER=/scratch/founding [JOB="--background --order 4"]
	@$(PY) benchmarks/founding_job.py $(FOLDER) $(JOB) $(if $(PUBLISH),--publish)

bench-kirchhoff: build ## the founding Kirchhoff case as a whole job: [LARGE=1] [RANKS=2] [THREADS=1] [DIVIDE=5]
	@$(PY) benchmarks/kirchhoff_founding.py $(FOLDER) $(if $(LARGE),--large) --ranks $(or $(RANKS),1) \
		--threads $(or $(THREADS),2) $(if $(DIVIDE),--divide $(DIVIDE)) $(if $(PUBLISH),--publish)

bench-line: build ## a field line from its file to its image: FOLDER=/scratch/line [SHOTS=20] [LINE="--no-rtm"]
	@$(PY) benchmarks/field_line.py $(or $(FOLDER),build/line) $(if $(SHOTS),--shots $(SHOTS)) $(LINE)

clean: ## remove the virtual environment and everything built
	rm -rf build dist $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

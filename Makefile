# Builds and tests virtio-cuda. `make demo` runs CUDA programs in VMs, and `make test` runs all checks.
# Both install missing dependencies.
#
#   make build    builds everything, staged in target/dist
#   make check    formatting, lints, generated code, import cycles, trust boundaries, licenses,
#                 instructions per call, unit tests
#   make audit    security advisories for the dependencies
#   make case CASE=NAME  runs the conformance cases whose names contain NAME on softgpu and through
#                 the device; builds only the necessary parts, with little optimization
#   make fuzz     runs each fuzz target for 15 seconds
#   make fuzz-driver  attacks the guest driver for 15 seconds (tests/fuzz-driver.sh --debug does so
#                 in a kernel that detects invalid memory accesses and wrong use of locks)
#   make chaos    attacks 42 of 50 VMs at random for a minute (tests/chaos.sh runs for longer)
#   make api      sends generated requests to the control API for half a minute; checks the metrics
#                 and the alert rules
#   make test     every check; README.md lists them
#   make demo     runs CUDA programs in VMs (takes half a minute after the first time); builds only
#                 the necessary parts, with little optimization
#   make bench    measures the cost of calls
#   make package  builds the guest and host packages
#   make rpm      builds both packages for Fedora, and runs rpmlint on them
#   make try-rpm  installs, upgrades, tests and erases them with rpm in a Debian with systemd
#   make container  builds a container image with the host package (needs root)
#   make try-package  runs lintian on both packages; installs, tests and purges the host package in
#                 a chroot and under systemd
#   make try-apt  checks that the guest package can be installed beside Debian's CUDA packages

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: all kvm driver stage-gpu deps build programs images package rpm try-rpm container try-package try-apt check audit unit conformance case suites api matrix proofs chaos fuzz fuzz-driver bench demo test clean

# Prints the current step with the time since the start. A make that a recipe runs, and the scripts,
# continue to count from there.
ifndef VIRTIO_CUDA_START
VIRTIO_CUDA_START := $(shell date +%s)
endif
export VIRTIO_CUDA_START
SAY = @printf '== %3d s: %s\n' $$(( $$(date +%s) - $(VIRTIO_CUDA_START) ))

DIST := target/dist
QUICK := target/quick-dist
CASE_DIST := target/case-dist
UML_MODULE := target/kmod/uml

all: build

deps:
	$(SAY) 'build dependencies'
	@scripts/install-deps.sh

programs: deps
	$(SAY) "CUDA programs, built with NVIDIA's compiler"
	@$(MAKE) --no-print-directory -s -C tests/programs -j2

images: deps
	$(SAY) 'user-mode Linux kernel'
	@images/uml-kernel.sh

build: programs images
	$(SAY) "host programs, guest libraries, softgpu"
	@scripts/build-release.sh --progress >/dev/null
	$(SAY) "guest driver"
	@images/kmod-build.sh uml guest-driver $(UML_MODULE)
	@scripts/stage.sh $(DIST)

package: deps
	@images/guest-package.sh
	@images/host-package.sh

container: deps
	@images/container.sh

rpm: deps
	@images/lint-packages.sh $$(images/rpm.sh)

# Takes two minutes after `make build`. It needs root, for a container.
try-rpm: build
	$(SAY) 'RPM packages in a container with rpm and systemd'
	@images/lint-packages.sh $$(images/rpm.sh --try)

# Takes two minutes after `make build`. It needs root: --try uses a chroot, --boot a container.
try-package: build
	$(SAY) 'packages: lintian, a chroot, a container with systemd'
	@images/guest-package.sh
	@images/host-package.sh --try --boot
	@images/lint-packages.sh target/guest-package/*.deb target/host-package/*.deb
	@tests/guest-cdi.sh

# Takes two minutes, downloads 60 MB, and needs root.
try-apt: deps
	$(SAY) "guest package beside Debian's CUDA packages"
	@tests/guest-apt.sh "$$(images/guest-package.sh)"

check: deps
	$(SAY) 'conflict markers'
	@! git grep -nE '^(<<<<<<<|>>>>>>>) '
	$(SAY) 'formatting'
	@cargo fmt --all --check
	$(SAY) 'generated code'
	@cargo xtask codegen --check
	$(SAY) 'import cycles'
	@cargo xtask cycles
	$(SAY) 'dependencies between trust domains'
	@cargo xtask boundaries
	$(SAY) 'dependency licenses and sources'
	@scripts/cargo-deny.sh --locked --log-level error check licenses bans sources
	$(SAY) 'lints'
	@cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	$(SAY) 'instructions per call'
	@tests/performance/instructions.sh
	$(SAY) 'unit tests'
	@$(MAKE) --no-print-directory unit

# Not part of `make check`, because it needs access to GitHub for the advisory database.
audit: deps
	@scripts/cargo-deny.sh --locked check advisories

# Without --tests, Cargo would also compile each library once more to look for examples in its
# documentation. There are none.
unit: deps programs
	@cargo build --locked --workspace --bins --lib --examples --quiet
	@cargo test --locked --workspace --exclude virtio-cuda-tests --tests --quiet
	@RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
		cargo test --locked --quiet --release -p virtio-cuda-protocol --test loom_ring --test loom_words

# Runs the CUDA programs on every path that works without a GPU. In QEMU, they run on a Debian disk
# with the guest package installed.
matrix: build
	$(SAY) 'QEMU, and a Debian disk with the guest package'
	@images/qemu.sh
	@images/disk.sh --print >target/disk.path
	$(SAY) 'CUDA programs on softgpu alone, vhost-user, user-mode Linux, QEMU under TCG'
	@tests/matrix.sh --dist $(DIST) --disk "$$(cat target/disk.path)" --table target/matrix.md \
		softgpu vhost-user uml qemu

kvm: build
	$(SAY) 'guests in QEMU under an emulated KVM'
	@images/qemu.sh
	@tests/kvm/nested.sh --dist $(DIST) --vmm qemu --short

conformance: build
	$(SAY) 'conformance cases on softgpu alone, vhost-user, user-mode Linux'
	@tests/conformance.sh --dist $(DIST) softgpu vhost-user uml
	@tests/conformance.sh --dist $(DIST) --gpus 2 --case peer --case visible_devices softgpu vhost-user uml

case: deps
	$(if $(CASE),,$(error name the cases: make case CASE=NAME))
	@scripts/build-quick.sh --case $(CASE_DIST)
	@tests/conformance.sh --dist $(CASE_DIST) --containing '$(CASE)' softgpu vhost-user

proofs: build
	$(SAY) 'killed processes, isolation, quotas, hostile guests'
	@VIRTIO_CUDA_DIST=$(abspath $(DIST)) scripts/cargo-release.sh test --locked --release --quiet \
		--test proofs -- --test-threads=1

chaos: build
	$(SAY) 'random attacks on most of 50 VMs'
	@tests/chaos.sh --dist $(DIST) --seconds 60 --seed 1

suites: build
	$(SAY) "a part of Numba's tests on softgpu alone, vhost-user"
	@tests/suites.sh --dist $(DIST) --files tests/suites/numba/shard.txt --floor 585 \
		numba softgpu vhost-user

api: build
	$(SAY) 'generated requests to the control API, metrics, alert rules'
	@tests/api.sh --dist $(DIST)

fuzz: deps
	$(SAY) 'fuzz targets'
	@tests/fuzz.sh --seconds 15 --seed 1

fuzz-driver: build
	$(SAY) 'random operations on the guest driver'
	@tests/fuzz-driver.sh --dist $(DIST) --seconds 15 --seed 1

driver: deps
	$(SAY) "guest driver on every kernel"
	@guest-driver/check.sh

# Stages everything that tests/gpu/run.sh needs on a machine with a GPU and no network: copy
# target/dist there.
stage-gpu: build
	@scripts/stage-gpu.sh $(DIST)

bench: build
	@tests/performance/run.sh --dist $(DIST)

demo: deps
	$(SAY) 'kernel, CUDA programs, host programs, guest library, softgpu'
	@scripts/build-quick.sh $(QUICK)
	$(SAY) 'VMs'
	@scripts/demo.sh $(QUICK) $(VIRTIO_CUDA_START)

test: build check driver conformance suites api matrix kvm proofs chaos fuzz fuzz-driver
	$(SAY) 'all checks passed'
	@tests/summary.sh target/matrix.md

clean:
	@rm -rf target

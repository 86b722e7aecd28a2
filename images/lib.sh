# shellcheck shell=bash
# Functions that the scripts in images/ and scripts/ share: the cache, log messages, and downloads
# of Debian packages from newer suites than the host's, without changing the host's apt state.
# Scripts source this file; it can't be run by itself.

VIRTIO_CUDA_CACHE="${VIRTIO_CUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-cuda}"
CACHE="$VIRTIO_CUDA_CACHE"
IMAGES_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
REPO_DIR="$(dirname -- "$IMAGES_DIR")"
mkdir -p "$CACHE"

# Log messages show the seconds since make started, or if make doesn't run the script, since the
# script started.
[ -z "${VIRTIO_CUDA_START:-}" ] || SECONDS=$(($(date +%s) - VIRTIO_CUDA_START))

# Messages go to stderr, because callers read results from stdout.
log() { printf '[%s +%ss] %s\n' "$(basename -- "${0%.sh}")" "$SECONDS" "$*" >&2; }
die() {
    printf '%s: error: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 1
}

# If a command fails, report the script's line.
trap 'printf "%s: error: line %s failed: %s\n" "$(basename -- "$0")" "$LINENO" "$BASH_COMMAND" >&2' ERR

# as_root CMD...: runs CMD as root, with sudo if needed.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "'$1' needs root, and sudo is not installed: run this script as root"
    fi
}

# ensure_packages PKG...: installs missing packages from the host's apt sources.
ensure_packages() {
    local missing=() pkg
    for pkg in "$@"; do
        if [ "$(dpkg-query -W -f='${db:Status-Status}' "$pkg" 2>/dev/null)" != installed ]; then
            missing+=("$pkg")
        fi
    done
    if [ "${#missing[@]}" -eq 0 ]; then
        return 0
    fi
    log "installing with apt: ${missing[*]}"
    (
        # Let only one script install packages at a time. apt waits for its own lock, but fails if
        # dpkg was interrupted.
        flock 9
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
            "${missing[@]}" >&2
    ) 9>"$CACHE/apt-install.lock"
}

# record NAME VERSION ORIGIN: records in $CACHE/versions.txt which version of NAME is in use.
record() {
    (
        flock 9
        local file="$CACHE/versions.txt"
        touch "$file"
        { grep -v "^$1 " "$file" || true; printf '%s %s %s\n' "$1" "$2" "$3"; } |
            sort >"$file.new"
        mv "$file.new" "$file"
    ) 9>"$CACHE/versions.lock"
}

# debian_mirror: prints the URI of the Debian archive that this machine's apt uses.
debian_mirror() {
    if [ -n "${VIRTIO_CUDA_DEBIAN_MIRROR:-}" ]; then
        printf '%s\n' "${VIRTIO_CUDA_DEBIAN_MIRROR%/}"
        return
    fi
    local codename uri file
    codename="$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")"
    [ -n "$codename" ] || die "/etc/os-release has no VERSION_CODENAME; set VIRTIO_CUDA_DEBIAN_MIRROR to a Debian archive"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        case "$file" in
            *.sources)
                # deb822 format: stanzas separated by empty lines. Use the first URI of an enabled
                # stanza that has this host's suite and "main".
                uri="$(awk -v want="$codename" '
                    function flush() {
                        if (suite && comp && on && types ~ /(^| )deb( |$)/ && uri != "") { print uri; exit }
                        suite = comp = 0; on = 1; uri = types = ""
                    }
                    BEGIN { on = 1 }
                    /^[ \t]*#/ { next }
                    /^[ \t]*$/ { flush(); next }
                    {
                        key = tolower($1)
                        if (key == "types:") { $1 = ""; types = $0 " " }
                        if (key == "uris:") uri = $2
                        if (key == "enabled:" && tolower($2) == "no") on = 0
                        if (key == "suites:") for (i = 2; i <= NF; i++) if ($i == want) suite = 1
                        if (key == "components:") for (i = 2; i <= NF; i++) if ($i == "main") comp = 1
                    }
                    END { flush() }' "$file" | head -n 1)"
                ;;
            *)
                # One-line format: deb [options] URI SUITE COMPONENTS
                uri="$(sed -E 's/#.*//; s/\[[^]]*\]//' "$file" |
                    awk -v want="$codename" '$1 == "deb" && $3 == want {
                        for (i = 4; i <= NF; i++) if ($i == "main") { print $2; exit } }')"
                ;;
        esac
        if [ -n "$uri" ]; then
            printf '%s\n' "${uri%/}"
            return
        fi
    done
    die "no apt source for '$codename main' found under /etc/apt; set VIRTIO_CUDA_DEBIAN_MIRROR to a Debian archive"
}

DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# apt_setup SUITE...: creates a private apt state for these suites and points APT_CONFIG at it. It
# has its own sources, lists and archives, and an empty package database, so that dependencies
# resolve as if no package was installed. From the host's apt configuration, it copies only the
# mirror's address and the Acquire settings, such as proxies.
apt_setup() {
    local name root mirror suite
    [ -f "$DEBIAN_KEYRING" ] || ensure_packages debian-archive-keyring
    name="$(IFS=+; printf '%s' "$*")"
    root="$CACHE/apt/$name"
    mkdir -p "$root/lists/partial" "$root/archives/partial" "$root/parts" "$root/log"
    mirror="$(debian_mirror)"
    for suite in "$@"; do
        printf 'deb [signed-by=%s] %s %s main\n' "$DEBIAN_KEYRING" "$mirror" "$suite"
    done >"$root/sources.list"
    : >>"$root/status"
    {
        apt-config dump | grep -E '^Acquire::(https?|Retries|Check-)[^ ]* "[^"]+";' || true
        printf '%s\n' \
            "Dir::Etc::Main \"/dev/null\";" \
            "Dir::Etc::Parts \"$root/parts\";" \
            "Dir::Etc::SourceList \"$root/sources.list\";" \
            "Dir::Etc::SourceParts \"$root/parts\";" \
            "Dir::Etc::Preferences \"/dev/null\";" \
            "Dir::Etc::PreferencesParts \"$root/parts\";" \
            "Dir::State \"$root\";" \
            "Dir::State::Lists \"$root/lists\";" \
            "Dir::State::status \"$root/status\";" \
            "Dir::Cache \"$root\";" \
            "Dir::Cache::Archives \"$root/archives\";" \
            "Dir::Log \"$root/log\";" \
            "APT::Architecture \"amd64\";" \
            "APT::Architectures { \"amd64\"; };" \
            "APT::Install-Recommends \"false\";" \
            "APT::Get::AllowUnauthenticated \"false\";" \
            "APT::Sandbox::User \"$(id -un)\";" \
            "Acquire::Languages \"none\";" \
            "Acquire::Retries \"3\";"
    } >"$root/apt.conf"
    export APT_CONFIG="$root/apt.conf"
    APT_ROOT="$root"
    APT_ARCHIVES="$root/archives"
}

# apt_archives DIR: makes apt_setup's apt state download packages to DIR.
apt_archives() {
    APT_ARCHIVES="$1"
    mkdir -p "$1/partial"
    sed "s|^Dir::Cache::Archives .*|Dir::Cache::Archives \"$1\";|" "$APT_ROOT/apt.conf" >"$1/apt.conf"
    export APT_CONFIG="$1/apt.conf"
}

# apt_refresh: downloads the package lists for apt_setup's suites, at most once per run.
apt_refresh() {
    [ "${APT_REFRESHED:-}" != "$APT_ROOT" ] || return 0
    log "downloading the package lists for $(basename -- "$APT_ROOT")"
    apt-get update -qq >&2
    APT_REFRESHED="$APT_ROOT"
}

# apt_version PKG: prints the version that apt would install.
apt_version() { apt-cache policy "$1" | sed -n 's/^  Candidate: //p'; }

# require_version NAME VERSION LEAST: fails unless VERSION is LEAST or newer.
require_version() {
    if [ -z "$2" ] || ! dpkg --compare-versions "$2" ge "$3"; then
        die "found $1 version '${2:-none}', but $3 or newer is required; check the sources in /etc/apt"
    fi
}

# fetch_deb PKG: downloads one package from apt_setup's suites; prints the path of the file.
fetch_deb() {
    local version file
    version="$(apt_version "$1")"
    case "$version" in
        '' | '(none)') die "package '$1' not found in $(basename -- "$APT_ROOT")" ;;
    esac
    file="$APT_ARCHIVES/$1_${version//:/%3a}"
    if ! compgen -G "${file}_*.deb" >/dev/null; then
        log "downloading $1 $version"
        (cd "$APT_ARCHIVES" && apt-get download -qq "$1" >&2)
    fi
    compgen -G "${file}_*.deb"
}

# quietly LOG CMD...: runs CMD and appends its output to LOG; if CMD fails, prints the end of LOG.
quietly() {
    local file="$1"
    shift
    "$@" >>"$file" 2>&1 || {
        tail -n 30 "$file" >&2
        die "failed: $* (see $file)"
    }
}

# enter_root ROOT [SRC:DEST]... -- CMD...: runs CMD in the chroot ROOT, in a separate mount
# namespace that has /proc, /sys, /dev, an empty /run and /tmp, and each directory SRC at DEST.
enter_root() {
    local propagation=private
    # If this script itself runs in a chroot, "/" isn't a mount point and can't be made private. The
    # mounts may then be visible outside, so always unmount them.
    as_root unshare --mount true 2>/dev/null || propagation=unchanged
    as_root unshare --mount --pid --fork --propagation "$propagation" sh -euc '
        root="$1"
        shift
        mounted=""
        attach() {
            target="$1"
            shift
            mount "$@" "$target"
            mounted="$target $mounted"
            mount --make-rprivate "$target"
        }
        attach "$root/proc" -t proc proc
        attach "$root/sys" -t sysfs -o ro sysfs
        attach "$root/dev" --rbind /dev
        attach "$root/run" -t tmpfs tmpfs
        attach "$root/tmp" -t tmpfs tmpfs
        while [ "$1" != -- ]; do
            attach "$root${1#*:}" --bind "${1%%:*}"
            shift
        done
        shift
        status=0
        chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" || status=$?
        for target in $mounted; do
            umount -R "$target" || umount -l "$target" || true
        done
        exit "$status"
    ' sh "$@"
}

# boot_debian ROOT SECONDS DIST PACKAGES SCRIPT FILE...: installs a Debian 13 with PACKAGES (separated
# by commas) in ROOT, boots it with systemd in a container (systemd-nspawn; needs root but not KVM),
# and runs SCRIPT there. /try contains each FILE, and from DIST, the output of `make build`, the
# guest's libcuda.so.1 and CUDA programs. Prints SCRIPT's output to stderr. Fails if SCRIPT fails or
# takes longer than SECONDS.
boot_debian() {
    local root="$1" seconds="$2" dist="$3" packages="$4" script="$5" built file code=0
    shift 5
    built=("$dist/guest/libcuda.so.1" "$dist"/programs/static/{vectoradd,spin})
    for file in "${built[@]}"; do
        [ -s "$file" ] || die "$file does not exist: run make build"
    done
    ensure_packages mmdebstrap debian-archive-keyring systemd-container
    log "building a Debian 13 with systemd"
    as_root mmdebstrap --variant=apt --mode=root --quiet \
        --include="systemd-sysv,dbus,passwd,procps,libgcc-s1,$packages" \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
        trixie "$root" "deb [signed-by=$DEBIAN_KEYRING] $(debian_mirror) trixie main" >&2
    as_root install -d "$root/try"
    as_root cp "$@" "${built[@]}" "$IMAGES_DIR/inside-lib.sh" "$root/try/"
    as_root install -m 755 "$script" "$root/try/inside"
    # When the script exits, the container exits with the same status.
    as_root tee "$root/etc/systemd/system/try.service" >/dev/null <<UNIT
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
ExecStart=/try/inside
StandardOutput=file:/try/said
StandardError=inherit
TimeoutStartSec=$seconds
UNIT
    as_root install -d "$root/etc/systemd/system/multi-user.target.wants"
    as_root ln -s ../try.service "$root/etc/systemd/system/multi-user.target.wants/try.service"
    log "booting it"
    # Give the container a cgroup v2 hierarchy even on a host with cgroup v1.
    as_root env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout "$((seconds + 120))" systemd-nspawn --quiet \
        --register=no --keep-unit --private-network --boot --directory "$root" --console=pipe \
        </dev/null >"$root.console" 2>&1 || code=$?
    as_root cat "$root/try/said" >&2 || tail -n 50 "$root.console" >&2
    [ "$code" -eq 0 ] || die "$script failed in the container (exit code $code)"
}

# third_party NAME DIR CRATE...: writes the licenses of the third-party code in a package, and a
# software bill of materials (CycloneDX), to DIR. CRATE... are the crates of its programs and
# libraries.
third_party() {
    local name="$1" dir="$2" rust
    shift 2
    (cd "$REPO_DIR" && cargo xtask third-party "$name" \
        "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" "$dir" "$@" >&2)
    rust="$(cd "$REPO_DIR" && rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html"
    [ -s "$rust" ] || die "$rust does not exist: reinstall the Rust toolchain"
    install -m 644 "$rust" "$dir/rust-standard-library.html"
    gzip -9n "$dir"/{third-party-licenses.txt,rust-standard-library.html}
    chmod 644 "$dir"/{third-party-licenses.txt.gz,sbom.cdx.json}
}

# jobs_n: prints the number of parallel jobs for a build.
jobs_n() { nproc; }

# progress EVERY LOG CMD...: runs CMD and writes its output to LOG. Prints every EVERYth line of the
# output, and the last one whenever nothing was printed for 15 seconds. If CMD fails, prints the end of
# LOG.
progress() {
    local every="$1" file="$2"
    shift 2
    log "full log: $file"
    # Use bash instead of awk, because mawk buffers 4 KiB of input.
    if ! "$@" 2>&1 | tee "$file" | (
        lines=0 part='' last='' printed="$SECONDS"
        while true; do
            if IFS= read -r -t 5 line; then
                lines=$((lines + 1)) last="$part$line" part=''
                [ $((lines % every)) -eq 0 ] || [ $((SECONDS - printed)) -ge 15 ] || continue
            else
                [ $? -gt 128 ] || break
                # After a timeout, `read` has returned only a part of the line. Its rest follows.
                part+="$line"
                [ $((SECONDS - printed)) -ge 15 ] || continue
            fi
            log "$(printf '%5d  %.70s' "$lines" "$last")"
            printed="$SECONDS"
        done
    ); then
        tail -n 30 "$file" >&2
        die "failed: $* (see $file)"
    fi
}

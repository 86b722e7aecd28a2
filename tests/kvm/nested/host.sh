#!/bin/sh
# Runs in the Linux with KVM of tests/kvm/nested.sh, with busybox's shell: host.sh VMM...
# PROGRAMS are the programs in the guests, except vectoradd and spin. QEMU_CPU are QEMU's arguments that
# select how guests are executed; without KVM, this runs on any Linux. PASSED are cases that have passed
# before, separated by commas: VMM:CASE.
#
# The guest executes commands that it gets on its console (guest.sh), so all cases of a VMM run in
# one guest.

kernel=/guest/vmlinuz initrd=/guest/initramfs.cpio
arguments='console=ttyS0 panic=-1 quiet memhp_default_state=online'
# vcudad soon gives up root's privileges, but must still be able to read its configuration file.
chmod 755 /
mkdir -p /tmp/run
cd /tmp/run || exit 1

say() { echo "nested: $*"; }

# If this stops, this machine has.
while sleep 10; do echo 'host: alive'; done &

# wait_for SECONDS COMMAND...: waits until a command succeeds. Fails if the VMM has ended.
wait_for() {
    local left=$(($1 * 5))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ $left -gt 0 ] && { [ -z "$vmm" ] || kill -0 "$vmm" 2>/dev/null; } || return 1
        left=$((left - 1))
        sleep 0.2
    done
}

uptime_s() { cut -d . -f 1 /proc/uptime; }
hundredths() { cut -d ' ' -f 1 /proc/uptime | tr -d .; }

# ---- The host ----

# Seconds without vcudad after which the spawner ends all sessions.
without_vcudad=15

# The guest has the VMs a and b, one device each. The other VM's programs run beside it, without a
# guest.
configure() {
    printf 'driver_library = "softgpu"\nstate_dir = ""\ncontrol_socket = ""\nsocket_folders = ["%s"]\n' "$PWD"
    for vm in a:61301 b:61302 other:61303; do
        printf '[[vm]]\nname = "%s"\nsocket = "%s"\nmemory.max = "256M"\nuid = %s\n' \
            "${vm%:*}" "$PWD/${vm%:*}" "${vm#*:}"
    done
}

start_spawner() {
    rm -f a b other spawner
    /dist/bin/vhost-cuda-spawner --listen "$PWD/spawner" --without-broker $without_vcudad \
        >>host.log 2>&1 &
    spawner=$!
    wait_for 60 test -S spawner
}

launch_vcudad() {
    /dist/bin/vcudad --config vcudad.toml --spawner "$PWD/spawner" >>host.log 2>&1 &
    vcudad=$!
}

are_served() { [ -S a ] && [ -S b ] && [ -S other ]; }

# Starts vcudad with new VMs.
start_vcudad() {
    launch_vcudad
    wait_for 60 are_served
}

start_host() {
    configure >vcudad.toml
    start_spawner && start_vcudad
}

stop_host() {
    # shellcheck disable=SC2086
    { kill $vcudad; wait $vcudad; kill $spawner; wait $spawner; } 2>/dev/null
    vcudad='' spawner=''
}

count_takeovers() { grep -ca 'vcudad took over' host.log; }
have_taken_over() { [ "$(count_takeovers)" -gt "$takeovers" ]; }

# processes_of NAME UID: prints the ids of a user's processes with this name, of which the kernel
# keeps 15 characters.
processes_of() {
    for status in /proc/[0-9]*/status; do
        grep -q "^Name:.$1$" "$status" 2>/dev/null && grep -q "^Uid:.$2" "$status" 2>/dev/null &&
            echo "$status" | cut -d / -f 3
    done
}

# Prints the ids of the guest's device processes, and of its workers.
device_processes() { processes_of vhost-device-cu 6130[12]; }
workers() { processes_of vhost-cuda-work 6130[12]; }

# Kills the device processes. vcudad then has new ones started.
kill_devices() {
    killed=$(device_processes)
    # shellcheck disable=SC2086
    kill -9 $killed
}

# are_replaced: whether there are as many device processes as kill_devices has killed, and none of
# those.
are_replaced() {
    local now
    now=$(device_processes)
    [ "$(echo "$now" | wc -w)" = "$(echo "$killed" | wc -w)" ] || return 1
    for old in $killed; do
        ! echo "$now" | grep -qx "$old" || return 1
    done
}

in_other_vm() { LD_LIBRARY_PATH=/dist/guest VIRTIO_CUDA_SOCKET=$PWD/other "$@"; }

# Starts a program in the other VM, which runs until the file other.stop exists.
start_other() {
    rm -f other.*
    until [ -e other.stop ]; do sleep 0.2; done |
        in_other_vm /root/spin hold=16 loop input >other.out 2>&1 &
    wait_for 60 grep -q 'spin: ready' other.out
}

# other_continues: ends the program of start_other, which must have got the right results, and runs
# another program in that VM.
other_continues() {
    touch other.stop
    wait_for 60 grep -q 'spin: PASS' other.out && in_other_vm timeout 60 /root/vectoradd
}

# ---- The guest ----

# The output of the guest's console is in the file `console`, and descriptor 3 is its input. Descriptor
# 4 is the input of QEMU's monitor.
prepare_console() {
    rm -f console console.in console.out monitor.in
    mkfifo console.in console.out monitor.in
    : >console
    exec 3<>console.in 4<>monitor.in
    number=0 boots=0
}

has_booted() { [ "$(grep -ca 'guest: ready' console)" -gt "$boots" ]; }

wait_for_boot() {
    wait_for 150 has_booted || return 1
    boots=$((boots + 1))
}

# send SECONDS COMMAND: has the guest start a command, without waiting for its end.
send() {
    number=$((number + 1))
    # Start to measure the guest's silence now, because the guest may have been paused until now.
    touch console
    echo "$number $*" >&3
}

has_answered() { grep -qa "guest: $number exited with" console; }

# will_not_answer: whether the guest was reset, or has printed nothing for a while, although it prints a
# line every 2 s.
will_not_answer() { has_booted || [ $(($(date +%s) - $(stat -c %Y console))) -ge 40 ]; }

needs_no_wait() { has_answered || will_not_answer; }

# in_guest SECONDS COMMAND: runs a command in the guest, and waits for its end.
in_guest() {
    send "$@"
    wait_for $(($1 + 20)) needs_no_wait && grep -qa "guest: $number exited with 0" console
}

stop_vmm() {
    [ -z "$vmm" ] || { kill -9 "$vmm"; wait "$vmm"; } 2>/dev/null
    vmm=
}

# ---- Cases ----

vector_add() { in_guest 60 /root/vectoradd; }

programs() {
    for program in $PROGRAMS; do
        in_guest 90 "/root/$program" || return 1
    done
}

two_vcpus() {
    in_guest 10 '[ $(nproc) = 2 ]' &&
        in_guest 90 '/root/threads & /root/streams && wait $!'
}

# has_text FILE TEXT: whether a file in the guest contains the text.
has_text() { in_guest 10 "grep -q '$2' $1"; }

# spawn NAME ARGUMENT...: starts `spin` in the guest, and waits until it's ready. Its output goes to
# NAME, and its exit status to NAME.end.
spawn() {
    local name=$1
    shift
    in_guest 10 "rm -f $name*; { /root/spin $* >$name 2>&1; echo \$? >$name.end; } &" &&
        in_guest 60 "until grep -q 'spin: ready' $name; do sleep 0.1; done"
}

# ends NAME SECONDS: waits until a spawned program has ended.
ends() { in_guest "$2" "until [ -s $1.end ]; do sleep 0.2; done"; }

got_an_error() { has_text "$1" cudaErrorDevicesUnavailable; }

# spawn_long NAME: starts `spin` in the guest, which then runs until `has_continued`.
spawn_long() {
    in_guest 10 "rm -f $1*; { until [ -e $1.stop ]; do sleep 0.2; done | /root/spin hold=16 loop input >$1 2>&1; echo \$? >$1.end; } &" &&
        in_guest 60 "until grep -q 'spin: ready' $1; do sleep 0.1; done"
}

# has_continued NAME: ends a program that spawn_long has started. The program must be running and
# have got the right results.
has_continued() {
    in_guest 10 "[ ! -e $1.end ] && touch $1.stop" && ends "$1" 60 && has_text "$1" 'spin: PASS'
}

# since START: prints the time since then, in seconds.
since() { echo "$(($(hundredths) - $1))" | sed 's/^.$/0&/; s/^..$/0&/; s/.$//; s/.$/.&/'; }

pause_and_resume() {
    spawn /tmp/pause loop 3 || return 1
    pause_vm || return 1
    sleep 2
    resume_vm || return 1
    ends /tmp/pause 30 && has_text /tmp/pause 'spin: PASS' && vector_add
}

# The guest uses added memory only after its other memory is nearly full.
memory_hot_add() {
    in_guest 10 'grep MemTotal /proc/meminfo >/tmp/before' && add_memory || return 1
    in_guest 60 'until ! grep -qf /tmp/before /proc/meminfo; do sleep 0.5; done' || return 1
    vector_add
}

reboot() {
    send 10 'reboot -f'
    wait_for_boot && vector_add
}

# Kills the worker of one program. The other programs must continue.
worker_killed() {
    local worker start
    start_other && spawn /tmp/victim loop || return 1
    worker=$(workers)
    spawn_long /tmp/long || return 1
    start=$(hundredths)
    kill -9 "$worker" && ends /tmp/victim 30 || return 1
    detail="; its program ended after $(since "$start") s"
    got_an_error /tmp/victim && vector_add && has_continued /tmp/long && other_continues
}

# continue_over COMMAND: runs a command that has another vcudad take over. Programs don't notice.
continue_over() {
    local start
    start_other && spawn_long /tmp/long || return 1
    takeovers=$(count_takeovers) start=$(hundredths)
    "$1" && wait_for 60 have_taken_over || return 1
    detail="; the next vcudad had taken over after $(since "$start") s"
    vector_add && has_continued /tmp/long && other_continues
}

# end_vcudad SIGNAL
end_vcudad() {
    kill "-$1" "$vcudad"
    wait "$vcudad" 2>/dev/null
    true
}

restart() { end_vcudad TERM; launch_vcudad; }
crash() { end_vcudad KILL; launch_vcudad; }
upgrade() { cp /dist/bin/vcudad /dist/bin/new && mv /dist/bin/new /dist/bin/vcudad && kill -USR2 "$vcudad"; }

vcudad_restarted() { continue_over restart; }
vcudad_killed() { continue_over crash; }
vcudad_upgraded() { continue_over upgrade; }

# spawn_both: starts a program that launches kernels all the time, and one that waits for a kernel.
spawn_both() { start_other && spawn /tmp/runs loop && spawn /tmp/waits forever; }

# both_end SECONDS START: waits until both programs of spawn_both have got an error.
both_end() {
    ends /tmp/runs "$1" && ends /tmp/waits "$1" || return 1
    detail="; the programs had ended after $(since "$2") s"
    got_an_error /tmp/runs && got_an_error /tmp/waits
}

are_gone() { ! [ -e a ] && ! [ -e b ] && ! [ -e other ]; }

# The spawner ends all sessions after some time without vcudad.
vcudad_ended() {
    local start
    spawn_both || return 1
    start=$(hundredths)
    end_vcudad TERM
    both_end 60 "$start" && wait_for 10 are_gone &&
        wait_for 10 grep -q cudaErrorDevicesUnavailable other.out || return 1
    start_vcudad && reconnect && vector_add && in_other_vm timeout 60 /root/vectoradd
}

# systemd starts both again.
spawner_killed() {
    local start
    spawn_both || return 1
    start=$(hundredths)
    kill -9 "$spawner"
    wait "$spawner" "$vcudad" 2>/dev/null
    start_host && reconnect && both_end 10 "$start" &&
        wait_for 10 grep -q cudaErrorDevicesUnavailable other.out || return 1
    vector_add && in_other_vm timeout 60 /root/vectoradd
}

# ---- QEMU ----

qemu_cases='boot vector_add programs two_vcpus pause_and_resume memory_hot_add snapshot unplug_and_plug device_killed worker_killed vcudad_restarted vcudad_killed vcudad_upgraded vcudad_ended spawner_killed reboot'

qemu_version() { /qemu/bin/qemu-system-x86_64 --version | head -n 1; }

start_qemu() {
    cat console.out >console &
    # QEMU's monitor uses its standard input and output.
    # shellcheck disable=SC2086
    /qemu/bin/qemu-system-x86_64 -M q35,memory-backend=mem -m 512M,slots=1,maxmem=1G -smp 2 \
        -object memory-backend-memfd,id=mem,size=512M,share=on ${QEMU_CPU:--accel kvm -cpu host} -nodefaults \
        -display none -chardev pipe,id=console,path=console -serial chardev:console \
        -monitor stdio -device pcie-root-port,id=port1,chassis=1 \
        -chardev "socket,id=cuda0,path=$PWD/a" -device "$(qemu_device 0)" \
        -kernel $kernel -initrd $initrd -append "$arguments" <monitor.in >vmm.log 2>&1 &
    vmm=$! plugs=0
}

# qemu_device N: the argument for the device with the chardev cudaN.
qemu_device() {
    echo "vhost-user-test-device-pci,id=gpu$1,bus=port1,chardev=cuda$1,virtio-id=38,num_vqs=3,vq_size=1024,config_size=64"
}

monitor() { echo "$*" >&4; }

is_paused() { monitor info status; sleep 0.2; tail -n 2 vmm.log | grep -qa 'VM status: paused'; }

qemu_pause_vm() { monitor stop && wait_for 10 is_paused; }
qemu_resume_vm() { monitor cont; }
qemu_add_memory() {
    monitor object_add memory-backend-memfd,id=more,size=256M,share=on
    monitor device_add pc-dimm,id=dimm,memdev=more
}

# QEMU can't save the device's state, so it must refuse.
qemu_snapshot() {
    spawn /tmp/snapshot loop 3 || return 1
    monitor 'migrate exec:cat>/dev/null'
    wait_for 10 grep -qa 'Error: .*migrat' vmm.log || return 1
    ends /tmp/snapshot 30 && has_text /tmp/snapshot 'spin: PASS'
}

is_unplugged() {
    local lines
    lines=$(wc -l <vmm.log)
    monitor info qtree
    sleep 1
    tail -n "+$lines" vmm.log | grep -qa 'dev: pcie-root-port' &&
        ! tail -n "+$lines" vmm.log | grep -qa "id \"gpu$plugs\""
}

replug() {
    monitor device_del gpu$plugs
    in_guest 60 'while [ -e /dev/virtio-cuda0 ]; do sleep 0.2; done' || return 1
    # QEMU removes the device after the guest has released it.
    wait_for 30 is_unplugged || return 1
    monitor chardev-remove cuda$plugs
    # QEMU keeps the name of a chardev from its command line reserved, so use another name each
    # time.
    plugs=$((plugs + 1))
    monitor chardev-add "socket,id=cuda$plugs,path=$PWD/a"
    monitor "device_add $(qemu_device $plugs)"
    in_guest 60 'until [ -e /dev/virtio-cuda0 ]; do sleep 0.2; done'
}

qemu_unplug_and_plug() { replug && vector_add; }

# QEMU doesn't connect to the new device process, so remove the device and add it again.
qemu_reconnect() { replug; }

qemu_device_killed() {
    start_other && spawn /tmp/killed forever && kill_devices || return 1
    wait_for 10 are_replaced && replug &&
        ends /tmp/killed 2 && got_an_error /tmp/killed && vector_add && other_continues
}

# ---- cloud-hypervisor ----

cloud_hypervisor_cases='boot vector_add programs two_vcpus pause_and_resume memory_hot_add plug device_killed device_killed_idle worker_killed vcudad_restarted vcudad_killed vcudad_upgraded vcudad_ended spawner_killed snapshot reboot'

cloud_hypervisor_version() { cloud-hypervisor --version | head -n 1; }

start_cloud_hypervisor() {
    rm -f api.sock
    cloud-hypervisor --api-socket path=api.sock --cpus boot=2 \
        --memory size=512M,shared=on,hotplug_size=512M --kernel $kernel --initramfs $initrd \
        --cmdline "$arguments" --serial pty --console off \
        --generic-vhost-user "socket=$PWD/a,device_type=38,queue_sizes=[256,256,256],id=cuda0" \
        >vmm.log 2>&1 &
    vmm=$! terminal=
    wait_for 30 connect_console
}

# cloud-hypervisor connects the guest's serial line to a terminal, whose name its API returns. After
# a reboot of the guest, it's another terminal.
connect_console() {
    local now
    now=$(curl -sf --unix-socket api.sock http://localhost/api/v1/vm.info |
        grep -o '"serial":{[^}]*}' | grep -o '/dev/pts/[0-9]*') || return 1
    [ "$now" != "$terminal" ] || return 0
    terminal=$now
    cat "$terminal" >>console &
    exec 3>"$terminal"
}

# cloud-hypervisor may replace the terminal at any time during a reboot.
cloud_hypervisor_reboot() {
    send 10 'reboot -f'
    for _ in $(seq 150); do
        connect_console
        ! has_booted || break
        sleep 1
    done
    wait_for_boot && vector_add
}

# api METHOD [JSON]: calls cloud-hypervisor's API.
api() {
    local method=$1
    shift
    curl -sf --max-time 60 --unix-socket api.sock -X PUT "http://localhost/api/v1/$method" \
        ${1:+-H 'Content-Type: application/json' -d "$1"} >>vmm.log 2>&1
}

cloud_hypervisor_pause_vm() { api vm.pause; }
cloud_hypervisor_resume_vm() { api vm.resume; }
cloud_hypervisor_add_memory() { api vm.resize '{"desired_ram":805306368}'; }

# Adds the other VM's device, which the guest then uses instead of the first one.
cloud_hypervisor_plug() {
    api vm.add-generic-vhost-user "{\"socket\":\"$PWD/b\",\"queue_sizes\":[256,256,256],\"device_type\":38,\"id\":\"cuda1\"}" &&
        in_guest 30 'until [ -e /dev/virtio-cuda1 ]; do sleep 0.2; done; cd /dev; mv virtio-cuda0 first; ln -s virtio-cuda1 virtio-cuda0; /root/vectoradd; status=$?; mv first virtio-cuda0; exit $status' &&
        vector_add
}

# It does so by itself.
cloud_hypervisor_reconnect() { true; }

cloud_hypervisor_device_killed() {
    local start
    spawn_both || return 1
    start=$(hundredths)
    kill_devices && both_end 5 "$start" && vector_add && other_continues
}

# Kills the device processes while no program in the guest uses a device.
cloud_hypervisor_device_killed_idle() {
    kill_devices && wait_for 10 are_replaced && sleep 1 && vector_add
}

# A guest that is restored from a snapshot gets another device, so its programs must get an error.
cloud_hypervisor_snapshot() {
    rm -rf snapshot
    mkdir snapshot
    spawn /tmp/waits forever && spawn /tmp/runs loop 12 || return 1
    api vm.pause && api vm.snapshot "{\"destination_url\":\"file://$PWD/snapshot\"}" &&
        api vm.resume || return 1
    # The guest itself continues.
    ends /tmp/runs 60 && has_text /tmp/runs 'spin: PASS' && vector_add || return 1
    stop_vmm
    rm -f api.sock
    cloud-hypervisor --api-socket path=api.sock --restore "source_url=file://$PWD/snapshot" \
        >>vmm.log 2>&1 &
    vmm=$! terminal=
    wait_for 60 connect_console && wait_for 10 api vm.resume || return 1
    ends /tmp/waits 5 && ends /tmp/runs 5 && got_an_error /tmp/waits && got_an_error /tmp/runs &&
        vector_add
}

# ---- All cases of one VMM ----

boot() { wait_for_boot; }

# is_alive: whether anything runs in the guest, even if its programs hang.
is_alive() {
    local before
    before=$(grep -ca 'guest: alive' console)
    sleep 10
    [ "$(grep -ca 'guest: alive' console)" -gt "$before" ]
}

# guest_failed: whether the guest's kernel has reported an error. A CPU that is emulated too slowly also
# causes soft lockups.
guest_failed() {
    grep -aE 'Kernel panic|BUG:|Oops|general protection|blocked for more than' console |
        grep -qv 'soft lockup'
}

# emulator_failed: whether the emulated KVM has failed, rather than the device or its driver. A
# guest that starts again without any message has been reset by its VMM, because its CPU couldn't
# continue. A guest can also stop while it boots. Other tests boot a guest without KVM, and would
# show if the driver caused that.
emulator_failed() {
    if grep -qa 'KVM internal error' vmm.log console; then
        failure='KVM internal error'
    elif guest_failed; then
        return 1
    elif has_booted; then
        failure='the emulated CPU reset the guest'
    elif kill -0 "$vmm" 2>/dev/null && ! is_alive; then
        failure="the guest's CPUs stopped"
    else
        return 1
    fi
}

# passed_before VMM: prints its cases in PASSED.
passed_before() {
    for case in $(echo "$PASSED" | tr , ' '); do
        case $case in "$1":*) printf '%s ' "${case#*:}" ;; esac
    done
}

# run_cases PREFIX CASES: runs the cases that haven't passed yet. Returns 1 if the emulated KVM has
# failed.
run_cases() {
    local prefix=$1 name start case
    shift
    for case in "$@"; do
        # Every guest must boot, so `boot` runs again even if it has passed, but it's reported only
        # once.
        case " $passed " in *" $case "*) [ "$case" = boot ] || continue ;; esac
        name=$(echo "$case" | tr _ ' ')
        start=$(uptime_s) detail=''
        if type "${prefix}_$case" >/dev/null 2>&1; then run=${prefix}_$case; else run=$case; fi
        if "$run"; then
            case " $passed " in
                *" $case "*) ;;
                *) say "$label: $name: PASS ($(($(uptime_s) - start)) s$detail)" ;;
            esac
            passed="$passed $case"
            continue
        fi
        ! emulator_failed || return 1
        { grep -va 'guest: alive' console | tail -n 40; tail -n 40 vmm.log host.log; } | sed 's/^/| /'
        say "$label: $name: FAIL ($(($(uptime_s) - start)) s)"
        # If the guest hasn't booted or has stopped, skip its other cases, which would only wait.
        in_guest 10 true || { say "$label: FAIL: the guest has stopped; the other cases did not run"; return 0; }
    done
}

# without_long CASES: prints the cases but those that kill or restart vcudad, its spawner, and workers.
without_long() {
    for case in $1; do
        case $case in worker_* | vcudad_* | spawner_*) ;; *) printf '%s ' "$case" ;; esac
    done
}
if [ "${CASES:-all}" = short ]; then
    qemu_cases=$(without_long "$qemu_cases")
    cloud_hypervisor_cases=$(without_long "$cloud_hypervisor_cases")
fi

for vmm_name in "$@"; do
    case $vmm_name in
        qemu) prefix=qemu cases=$qemu_cases ;;
        *) prefix=cloud_hypervisor cases=$cloud_hypervisor_cases ;;
    esac
    if [ $prefix = cloud_hypervisor ] && ! command -v cloud-hypervisor >/dev/null; then
        for case in $cases; do say "cloud-hypervisor: $(echo "$case" | tr _ ' '): MISSING"; done
        continue
    fi
    if [ $prefix = cloud_hypervisor ] && ! command -v curl >/dev/null; then
        say 'cloud-hypervisor: MISSING: curl, which calls its API'
        continue
    fi
    pause_vm() { "${prefix}_pause_vm"; }
    resume_vm() { "${prefix}_resume_vm"; }
    add_memory() { "${prefix}_add_memory"; }
    reconnect() { "${prefix}_reconnect"; }
    label=$vmm_name passed=$(passed_before "$vmm_name")
    say "$vmm_name: $("${prefix}_version")"
    # A case that has passed isn't run again, so each round has fewer of them.
    for round in 1 2 3 4 5 6; do
        rm -f host.log
        start_host || say "$label: FAIL: vcudad did not start"
        prepare_console
        "start_$prefix"
        # shellcheck disable=SC2086
        run_cases $prefix $cases && again='' || again=yes
        stop_vmm
        stop_host
        [ -n "$again" ] || break
        if [ $round = 6 ]; then
            say "$label: FAIL: $failure, after five similar failures"
        else
            say "$label: $failure; running the other cases again"
        fi
    done
done
say 'done'

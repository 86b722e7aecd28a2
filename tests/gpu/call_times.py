"""Measures how long a session's start and single calls take, in milliseconds.

python3 call_times.py RUNS

Runs itself RUNS times, and prints the median of each call. The libcuda that the dynamic loader finds
decides what is measured: NVIDIA's, or the guest's (LD_LIBRARY_PATH, VIRTIO_CUDA_SOCKET). Wait a few
seconds after vcudad's start, so that it has workers in reserve (warm_workers).
"""

import ctypes
import json
import statistics
import subprocess
import sys
import time

PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p){ret;}\n\0"
# The time that vcudad needs to start another warm worker, in seconds.
PAUSE = 0.7


def milliseconds(call, *arguments):
    """The duration of a call, which must succeed."""
    start = time.perf_counter()
    result = call(*arguments)
    assert result == 0, f"{call.__name__} failed with {result}"
    return (time.perf_counter() - start) * 1000


def measure():
    """The median duration of each call, by name."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, other = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    address, module = ctypes.c_uint64(), ctypes.c_void_p()
    start = milliseconds(cuda.cuInit, 0)
    start += milliseconds(cuda.cuDeviceGet, ctypes.byref(device), 0)
    start += milliseconds(cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    start += milliseconds(cuda.cuCtxSetCurrent, context)
    times = {"start": [start]}

    def add(name, call, *arguments):
        times.setdefault(name, []).append(milliseconds(call, *arguments))

    for _ in range(8):
        add("cuMemAlloc", cuda.cuMemAlloc_v2, ctypes.byref(address), ctypes.c_size_t(8 << 20))
        add("cuMemFree", cuda.cuMemFree_v2, address)
    for _ in range(3):
        add("cuModuleLoadData", cuda.cuModuleLoadData, ctypes.byref(module), PTX)
        add("cuModuleUnload", cuda.cuModuleUnload, module)
    add("cuCtxCreate", cuda.cuCtxCreate_v2, ctypes.byref(other), 0, device)
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    if sys.argv[1:] == ["once"]:
        print(json.dumps(measure()))
        return
    runs = []
    for _ in range(int(sys.argv[1])):
        program = [sys.executable, __file__, "once"]
        runs.append(json.loads(subprocess.run(program, check=True, capture_output=True).stdout))
        time.sleep(PAUSE)
    for name in runs[0]:
        print(f"{name}: {statistics.median(run[name] for run in runs):.3f} ms")


main()

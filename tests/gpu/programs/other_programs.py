"""Programs that use JAX, CuPy, Triton and NCCL."""

import os
import sys

import report


def jax():
    """A small network trained with JAX: jit, grad, and a training loop."""
    os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true"
    import jax
    import jax.numpy as np

    def loss(weights, x, y):
        for weight in weights[:-1]:
            x = jax.nn.relu(x @ weight)
        return np.mean((x @ weights[-1] - y) ** 2)

    @jax.jit
    def update(weights, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients)]

    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    weights = [jax.random.normal(key, (512, 512)) * 0.05 for key in keys[:3]]
    x, y = (jax.random.normal(key, (256, 512)) for key in keys[3:])
    state = [None, weights]

    def step():
        state[0], state[1] = update(state[1], x, y)

    report.timed(5000, step, lambda: state[0].block_until_ready())
    report.result("loss", float(state[0]))
    report.result("device", str(jax.devices()[0].platform))


def cupy():
    """CuPy: element-wise kernels, reductions, sort, linear algebra, random numbers, FFT."""
    import cupy

    x = cupy.arange(1 << 20, dtype=cupy.float32)
    report.result("sum", float(cupy.sqrt(x).sum()))
    report.result("sort", report.digest(cupy.sort(cupy.cos(x)).get()))
    rng = cupy.random.RandomState(1)
    a = rng.rand(256, 256)
    report.result("random", report.digest(a.get()))
    report.result("solve", report.digest(cupy.linalg.solve(a, a + 1).get()))
    report.result("fft", report.digest(cupy.fft.fft(a).get()))
    kernel = cupy.RawKernel(
        'extern "C" __global__ void twice(float *x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }',
        "twice",
    )
    y = x.copy()
    report.timed(20000, lambda: kernel((4096,), (256,), (y,)), cupy.cuda.Device().synchronize)
    kernel((4096,), (256,), (x,))
    report.result("raw", report.digest(x.get()))


def triton():
    """A softmax and a matrix product written in Triton."""
    import torch

    import triton_kernels

    a = torch.randn(512, 512, generator=torch.Generator().manual_seed(1)).cuda()
    report.result("softmax", report.digest(triton_kernels.softmax(a).cpu().numpy()))
    half = a.half()
    report.result("matmul", report.digest(triton_kernels.matmul(half, half).cpu().numpy()))
    report.timed(5000, lambda: triton_kernels.matmul(half, half), torch.cuda.synchronize)


def nccl():
    """An all-reduce with one process for each GPU, of 1 KiB to 64 MiB."""
    import torch

    torch.multiprocessing.spawn(nccl_rank, (torch.cuda.device_count(),), torch.cuda.device_count())


def nccl_rank(rank, ranks):
    """One process of `nccl`."""
    import torch
    import torch.distributed as distributed

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=ranks)
    for size in (1 << 8, 1 << 16, 1 << 24):
        x = torch.arange(size, dtype=torch.float32, device="cuda") + rank
        distributed.all_reduce(x)
        if rank == 0:
            report.result(f"sum of {size}", report.digest(x.cpu().numpy()))
    distributed.destroy_process_group()


if __name__ == "__main__":
    report.main({"jax": jax, "cupy": cupy, "triton": triton, "nccl": nccl}, sys.argv)

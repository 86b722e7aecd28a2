#!/usr/bin/env python3
"""Computes with PyTorch and prints a digest of the results. The digest is the same natively, in a VM,
and in a VM whose kernels are evicted again and again, because another VM runs a kernel that never ends
(outlast in tests/programs/quota).

    CUBLAS_WORKSPACE_CONFIG=:4096:8 tests/gpu/torch_evicted.py [--part PART] [STEPS]

PART is one of
    train   trains a small network, with FFTs in between, and then replays a graph (the default);
            the digest is that of the losses, the FFTs, the graph, and the final parameters
    matmul  products of matrices (cuBLAS) of several types
    fft     Fourier transforms (cuFFT) of several sizes
    graphs  replays graphs of several kernels
    nccl    trains a network with a process for each GPU, and then replays a graph with an all-reduce;
            NCCL's kernels on one GPU wait for those on the others. The processes' IDs are appended to the
            file that the environment variable PIDS names
"""
import argparse
import hashlib
import os
import sys
import tempfile
import time

import torch
from torch import distributed, nn

digest = hashlib.sha256()


def add(tensor):
    digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())


def train(steps):
    model = nn.Sequential(
        nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.LayerNorm(2048), nn.GELU(),
        nn.Linear(2048, 256),
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(4096, 512, device="cuda")
    y = torch.randn(4096, 256, device="cuda")
    for step in range(steps):
        with torch.autocast("cuda", torch.bfloat16):
            loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            add(loss.reshape(1))
            add(torch.fft.fft(x[:256]).abs().sum().reshape(1))
            torch.cuda.empty_cache()
    a = torch.randn(1024, 1024, device="cuda") / 32
    add(replayed(lambda: a @ a @ a, steps))
    for parameter in model.parameters():
        add(parameter)


def matmul(steps):
    for step in range(steps):
        for kind, size in (torch.float32, 4096), (torch.float64, 2048), (torch.bfloat16, 4096), (torch.float16, 3000):
            a = torch.randn(size, size, device="cuda").to(kind)
            product = a @ a.T
            # A batch of small products, too.
            small = torch.bmm(a[:1024, :1024].reshape(16, 64, 1024), a[:1024, :1024].reshape(16, 1024, 64))
            add(product[step % size])
            add(small[step % 16])


def fft(steps):
    x = torch.randn(8, 1 << 20, device="cuda")
    for step in range(steps):
        spectrum = torch.fft.rfft(x)
        x = torch.fft.irfft(spectrum * 0.999, n=x.shape[1])
        plane = torch.fft.fft2(x[:4].reshape(4, 1024, 1024))
        odd = torch.fft.fft(x[:, : 1000003 if step % 2 else 999000])
        if step % 5 == 0:
            add(torch.view_as_real(plane[0, step % 1024]))
            add(torch.view_as_real(odd[0, :1000]))
    add(x)


def graphs(steps):
    a = torch.randn(2048, 2048, device="cuda") / 45
    norm = nn.LayerNorm(2048).cuda()

    def body():
        b = a
        for _ in range(4):
            b = norm(torch.nn.functional.gelu(b @ a) + b)
        return torch.fft.fft(b).real

    with torch.no_grad():
        for part in range(3):
            add(replayed(body, steps))
            a.mul_(0.9).add_(part / 1000)


def replayed(body, times):
    """Captures a graph and returns its result after some replays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = body()
    for _ in range(times):
        graph.replay()
    torch.cuda.synchronize()
    return output


def nccl(steps):
    with tempfile.TemporaryDirectory() as directory:
        ranks = torch.cuda.device_count()
        torch.multiprocessing.spawn(nccl_rank, (ranks, steps, directory), ranks)
        for rank in range(ranks):
            for tensor in torch.load(os.path.join(directory, f"result-{rank}")):
                add(tensor)


def nccl_rank(rank, ranks, steps, directory):
    """One process of `nccl`."""
    if "PIDS" in os.environ:
        with open(os.environ["PIDS"], "a") as file:
            print(os.getpid(), file=file)
    settle(rank)
    torch.cuda.set_device(rank)
    store = distributed.FileStore(os.path.join(directory, "store"), ranks)
    distributed.init_process_group("nccl", store=store, rank=rank, world_size=ranks)
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 256)).cuda()
    parallel = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(1024, 512, device="cuda")
        loss = (parallel(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = torch.full((1 << 18,), rank + 1.0, device="cuda")

    def body():
        distributed.all_reduce(total)
        return total.mul_(0.5)

    results = [*model.parameters(), replayed(body, 20)]
    torch.save([tensor.detach().cpu() for tensor in results], os.path.join(directory, f"result-{rank}"))
    distributed.barrier()
    torch.cuda.synchronize()
    distributed.destroy_process_group()


def settle(seed):
    """Makes the results reproducible."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


# How many steps take roughly half a second of an H200's time.
PARTS = {
    "train": (train, 150), "matmul": (matmul, 30), "fft": (fft, 200), "graphs": (graphs, 150),
    "nccl": (nccl, 500),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=PARTS, default="train")
    parser.add_argument("steps", nargs="?", type=int)
    arguments = parser.parse_args()
    part, steps = PARTS[arguments.part]
    settle(1)
    start = time.time()
    part(arguments.steps or steps)
    print(f"{time.time() - start:.2f} s", file=sys.stderr)
    print("result:", digest.hexdigest()[:24])

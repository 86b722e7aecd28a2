#!/usr/bin/env python3
"""Trains a small network, and prints a digest of the losses, of FFTs and graph replays in between, and
of the final parameters. The digest is the same natively, in a VM, and in a VM whose kernels are
evicted again and again, because another VM runs a kernel that never ends (outlast in
tests/programs/quota).

    CUBLAS_WORKSPACE_CONFIG=:4096:8 tests/gpu/torch_evicted.py [STEPS]
"""
import hashlib
import sys
import time

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
digest = hashlib.sha256()


def add(tensor):
    digest.update(tensor.detach().float().cpu().numpy().tobytes())


model = nn.Sequential(
    nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.LayerNorm(2048), nn.GELU(),
    nn.Linear(2048, 256),
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(4096, 512, device="cuda")
y = torch.randn(4096, 256, device="cuda")
start = time.time()
for step in range(steps):
    with torch.autocast("cuda", torch.bfloat16):
        loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        add(loss)
        add(torch.fft.fft(x[:256]).abs().sum())
        torch.cuda.empty_cache()
a = torch.randn(1024, 1024, device="cuda") / 32
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    for _ in range(3):
        a @ a
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    product = a @ a @ a
for _ in range(steps):
    graph.replay()
torch.cuda.synchronize()
add(product)
for parameter in model.parameters():
    add(parameter)
print(digest.hexdigest()[:24], f"{time.time() - start:.2f} s")

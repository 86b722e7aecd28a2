"""PyTorch programs. Each runs with deterministic algorithms, so that its results can be compared."""

import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402

import report  # noqa: E402

SYNCHRONIZE = torch.cuda.synchronize


def bytes_of(tensor):
    """Returns a hash of a tensor."""
    return report.digest(tensor.detach().float().cpu().numpy())


def resnet():
    """Returns ResNet-50 with random weights, in half precision."""
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(1)
    return ResNetForImageClassification(ResNetConfig(num_labels=1000)).half().cuda().eval()


def images(count):
    """Returns a batch of random images."""
    return torch.randn(count, 3, 224, 224, generator=torch.Generator().manual_seed(2)).half().cuda()


@torch.no_grad()
def resnet_half():
    """ResNet-50 inference in half precision, batch 32."""
    model, batch = resnet(), images(32)
    report.result("logits", bytes_of(model(batch).logits))
    report.timed(400, lambda: model(batch), SYNCHRONIZE)


@torch.no_grad()
def resnet_half_batch_1():
    """ResNet-50 inference in half precision, one image at a time."""
    model, batch = resnet(), images(1)
    report.result("logits", bytes_of(model(batch).logits))

    def step():
        model(batch)
        SYNCHRONIZE()

    report.timed(400, step, SYNCHRONIZE)


@torch.no_grad()
def resnet_half_graph():
    """ResNet-50 inference in half precision as a CUDA graph."""
    model, batch = resnet(), images(1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(batch)
    SYNCHRONIZE()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(batch).logits
    graph.replay()
    report.result("logits", bytes_of(output))
    report.timed(1500, graph.replay, SYNCHRONIZE)


def transformer(steps, autocast=None):
    """Trains a transformer encoder, and reports the loss after the last step."""
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6).cuda()
    head = torch.nn.Linear(512, 512).cuda()
    parameters = list(model.parameters()) + list(head.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    data = torch.randn(16, 256, 512, generator=torch.Generator().manual_seed(4)).cuda()
    target = data.roll(1, dims=1)
    losses = []

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None):
            loss = torch.nn.functional.mse_loss(head(model(data)), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    report.timed(steps - 2, step, SYNCHRONIZE)
    report.result("loss", losses[-1].item())


def train():
    """A transformer in float32, 200 steps."""
    transformer(200)


def train_bf16():
    """A transformer with autocast to bfloat16, 200 steps."""
    transformer(200, torch.bfloat16)


def train_fp16():
    """A transformer with autocast to float16, 200 steps."""
    transformer(200, torch.float16)


def gpt():
    """A GPT with 124M parameters generates 200 tokens with a KV cache, greedily."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(5)
    model = GPT2LMHeadModel(GPT2Config()).to(torch.bfloat16).cuda().eval()
    prompt = torch.arange(16).view(1, 16).cuda()
    tokens = []

    def step():
        output = model.generate(
            prompt, max_new_tokens=200, min_new_tokens=200, do_sample=False, pad_token_id=0
        )
        tokens.append(output[0].tolist())

    report.timed(2, step, SYNCHRONIZE)
    report.result("tokens", report.hashlib.sha256(str(tokens[-1]).encode()).hexdigest()[:16])


def matmul():
    """Matrix products in every precision."""
    generator = torch.Generator().manual_seed(6)
    a, b = (torch.randn(1024, 1024, generator=generator) for _ in range(2))
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        x, y = a.cuda().to(dtype), b.cuda().to(dtype)
        report.result(str(dtype), bytes_of(x @ y))
    x, y = a.cuda().bfloat16(), b.cuda().bfloat16()
    report.timed(20000, lambda: x @ y, SYNCHRONIZE)


def fft():
    """Fourier transforms with cuFFT."""
    x = torch.randn(256, 4096, generator=torch.Generator().manual_seed(7)).cuda()
    y = torch.fft.fft(x)
    report.result("fft", report.digest(torch.view_as_real(y).cpu().numpy()))
    report.result("2d", bytes_of(torch.fft.irfft2(torch.fft.rfft2(x))))
    report.timed(5000, lambda: torch.fft.ifft(torch.fft.fft(x)), SYNCHRONIZE)


def linalg():
    """Linear algebra with cuSOLVER, and a sparse product with cuSPARSE."""
    generator = torch.Generator().manual_seed(8)
    a = torch.randn(256, 256, generator=generator, dtype=torch.float64).cuda()
    spd = a @ a.T + 256 * torch.eye(256, device="cuda", dtype=torch.float64)
    report.result("cholesky", bytes_of(torch.linalg.cholesky(spd)))
    report.result("solve", bytes_of(torch.linalg.solve(spd, a)))
    report.result("eigenvalues", bytes_of(torch.linalg.eigvalsh(spd)))
    report.result("qr", bytes_of(torch.linalg.qr(a).R))
    sparse = (a * (a > 2)).to_sparse_csr()
    report.result("sparse", bytes_of(sparse @ a))
    report.result("sort", bytes_of(torch.sort(a.flatten()).values))


def dataloader():
    """A DataLoader with workers and pinned memory."""
    data = torch.utils.data.TensorDataset(torch.arange(200_000.0).view(-1, 100))
    loader = torch.utils.data.DataLoader(data, batch_size=50, num_workers=2, pin_memory=True)
    total = torch.zeros((), device="cuda", dtype=torch.float64)

    def epoch():
        for (batch,) in loader:
            total.add_(batch.cuda(non_blocking=True).double().sum())

    report.timed(1, epoch, SYNCHRONIZE)
    report.result("sum", total.item())


def compile():
    """A model compiled with torch.compile, which generates Triton kernels."""
    torch.manual_seed(9)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 64)
    ).cuda()
    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(1)).cuda()
    compiled = torch.compile(model)
    with torch.no_grad():
        report.result("output", bytes_of(compiled(x)))
        report.timed(5000, lambda: compiled(x), SYNCHRONIZE)


def allocator():
    """Allocations of many sizes, with the allocator that the environment selects."""
    generator = torch.Generator().manual_seed(10)
    kept, total = [], 0.0

    def step():
        nonlocal total
        size = int(torch.randint(1, 1 << 24, (1,), generator=generator))
        kept.append(torch.full((size,), 3, dtype=torch.uint8, device="cuda"))
        if len(kept) > 32:
            total += float(kept.pop(0)[-1])

    report.timed(2000, step, SYNCHRONIZE)
    report.result("sum", total)
    kept.clear()
    torch.cuda.empty_cache()


def out_of_memory():
    """An allocation that fails, and work after it."""
    free, total = torch.cuda.mem_get_info()
    try:
        torch.empty(total + (1 << 30), dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        report.result("refused", True)
    report.result("sum", torch.ones(1000, device="cuda").sum().item())


def share(queue, done):
    """Sends a tensor to another process, and waits until it's no longer used."""
    queue.put(torch.arange(1000.0, device="cuda"))
    done.wait()


def multiprocessing():
    """A tensor on the device shared between processes."""
    context = torch.multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    process = context.Process(target=share, args=(queue, done), daemon=True)
    process.start()
    tensor = queue.get(timeout=60)
    report.result("sum", tensor.sum().item())
    del tensor
    done.set()
    process.join()


def profiler():
    """The profiler's CPU events; CUPTI's events exist natively only."""
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(512, 512, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in range(3):
            x = x @ x
        SYNCHRONIZE()
    names = {event.key: event.count for event in seen.key_averages()}
    report.result("matmuls", names.get("aten::matmul"))


PROGRAMS = {
    function.__name__: function
    for function in (
        resnet_half, resnet_half_batch_1, resnet_half_graph, train, train_bf16, train_fp16, gpt,
        matmul, fft, linalg, dataloader, compile, allocator, out_of_memory, multiprocessing, profiler,
    )
}  # fmt: skip

if __name__ == "__main__":
    # Some programs use operations that have no deterministic implementation, but only where their
    # order doesn't affect the result. Training must not: attention's gradients would vary.
    torch.use_deterministic_algorithms(True, warn_only=not sys.argv[-1].startswith("train"))
    torch.backends.cudnn.benchmark = False
    report.main(PROGRAMS, sys.argv)

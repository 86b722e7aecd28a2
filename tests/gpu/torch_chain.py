"""Runs inference requests with batch size 1 in PyTorch: torch_chain.py eager|graph SECONDS.

The model is ResNet-50 in half precision if torchvision is installed, otherwise a small
convolutional network with about as many kernels. The last line of output is JSON: requests per
second, and the mean, p50 and p99 of the latency in milliseconds.
"""

import json
import sys
import time

import torch


def network():
    """Returns the network and its name."""
    try:
        import torchvision

        return torchvision.models.resnet50(weights=None), "resnet50"
    except ImportError:
        layers = [torch.nn.Conv2d(3, 64, 7, stride=4, padding=3)]
        for _ in range(50):
            layers += [torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU()]
        layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 1000)]
        return torch.nn.Sequential(*layers), "convolutions"


def main():
    """Warms up, measures, and prints the results."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("eager", "graph"):
        sys.exit(__doc__)
    how, seconds = sys.argv[1], float(sys.argv[2])
    torch.manual_seed(1)
    model, name = network()
    model = model.half().cuda().eval()
    image = torch.randn(1, 3, 224, 224, dtype=torch.half, device="cuda")
    with torch.no_grad():
        for _ in range(20):
            model(image)
        torch.cuda.synchronize()
        request = lambda: model(image)  # noqa: E731
        if how == "graph":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(image)
            request = graph.replay
        for _ in range(20):
            request()
        torch.cuda.synchronize()
        latencies = []
        end = time.perf_counter() + seconds
        while (begin := time.perf_counter()) < end:
            request()
            torch.cuda.synchronize()
            latencies.append((time.perf_counter() - begin) * 1000)
    latencies.sort()
    result = {
        "program": name,
        "launch": how,
        "per_second": round(len(latencies) / seconds, 2),
        "mean": round(sum(latencies) / len(latencies), 3),
        "p50": round(latencies[len(latencies) // 2], 3),
        "p99": round(latencies[int(len(latencies) * 0.99)], 3),
    }
    print(json.dumps(result, separators=(",", ":")))


main()

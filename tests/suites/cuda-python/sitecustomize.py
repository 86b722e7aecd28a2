"""Makes cuda.core give PTX to the driver, in every Python process of the tests.

cuda.core compiles with NVRTC and links with nvJitLink, and both return machine code for an NVIDIA GPU.
softgpu runs PTX alone. This replaces NVRTC's machine code by the PTX of the same compilation, and makes
cuda.core link with the driver (cuLink*), as it does where nvJitLink isn't installed."""

import importlib.abc
import importlib.util
import sys


class Compiler:
    """NVRTC's bindings, with PTX in the place of machine code."""

    def __init__(self, nvrtc):
        self.nvrtcGetCUBINSize = nvrtc.nvrtcGetPTXSize
        self.nvrtcGetCUBIN = nvrtc.nvrtcGetPTX
        self._nvrtc = nvrtc

    def __getattr__(self, name):
        return getattr(self._nvrtc, name)


def patch_program(module):
    module.nvrtc = Compiler(module.nvrtc)


def patch_linker(module):
    # With an nvJitLink that is too old, cuda.core uses the driver's linker, and warns about it.
    module._nvjitlink_has_version_symbol = lambda nvjitlink: False


PATCHES = {"cuda.core._program": patch_program, "cuda.core._linker": patch_linker}


class Finder(importlib.abc.MetaPathFinder):
    """Patches the modules when they're imported."""

    def find_spec(self, name, path, target=None):
        patch = PATCHES.pop(name, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())

"""Makes Numba link kernels with the driver's linker, from PTX.

By default, Numba gives its PTX to nvJitLink, which returns machine code for an NVIDIA GPU. softgpu
runs PTX alone. This replaces the last step of Numba's linker: PTX goes to cuLink*, and code in
NVVM's link-time format is converted to PTX by nvJitLink first. Other kinds of code still go to
nvJitLink."""

import importlib.abc
import importlib.util
import sys

TARGET = "numba.cuda.cudadrv.driver"


def link(codes):
    """Links PTX with the driver, and returns the image."""
    from cuda.bindings import driver

    def check(result):
        error, *values = result
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the driver's linker failed: {error.name}")
        return values[0] if values else None

    state = check(driver.cuLinkCreate(0, [], []))
    try:
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        for code in codes:
            data = code if code.endswith(b"\0") else code + b"\0"
            check(driver.cuLinkAddData(state, kind, data, len(data), b"kernel.ptx", 0, [], []))
        error, image, size = driver.cuLinkComplete(state)
        check((error,))
        import ctypes

        return ctypes.string_at(image, size)
    finally:
        driver.cuLinkDestroy(state)


def patch(module):
    original = module._Linker.complete

    def complete(self):
        # softgpu has its own device runtime library.
        used = [code for code in self._object_codes if "cudadevrt" not in (code.name or "")]
        if not {code.code_type for code in used} <= {"ptx", "ltoir"}:
            return original(self)
        codes = [code.code for code in used if code.code_type == "ptx"]
        intermediate = [code for code in used if code.code_type == "ltoir"]
        if intermediate:
            everything, self._object_codes = self._object_codes, intermediate
            codes.append(self.get_linked_ptx())
            self._object_codes = everything
        codes = [code.encode() if isinstance(code, str) else bytes(code) for code in codes]
        try:
            image = link(codes)
        except RuntimeError as error:
            raise module.LinkerError(str(error)) from error
        self._info_log = self._error_log = ""
        self.linker = self.linker or True
        self._complete = True
        return module.ObjectCode.from_cubin(image)

    module._Linker.complete = complete


class Finder(importlib.abc.MetaPathFinder):
    """Patches the module when it is imported."""

    def find_spec(self, name, path, target=None):
        if name != TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())

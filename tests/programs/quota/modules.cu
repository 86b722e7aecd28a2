// Loads generated modules, and reports the memory that the program is charged for.
//
//   modules [--modules N] [--batch N] [--seed N]
//
// Each module has random variables and functions. Every other one is linked first and loaded as a
// cubin. After every batch (250 modules), the program prints `used BYTES` and waits for a line on
// standard input, so that the caller can compare with NVML. Then it unloads them. Refused loads
// aren't errors. No kernel runs.
//
// The last line is JSON.
#include "driver.h"

#include <iostream>

static uint32_t state;

static unsigned below(unsigned limit) { return next_random(state) % limit; }

// Returns a number of bytes, so that all orders of magnitude are equally likely.
static size_t size_up_to(double most) {
    return static_cast<size_t>(std::exp2(std::log2(most) * below(1 << 16) / (1 << 16)));
}

static std::string generated(unsigned number) {
    static const char *const types[] = {".b8", ".u16", ".b32", ".f32", ".u64", ".f64"};
    static const unsigned bytes[] = {1, 2, 4, 4, 8, 8};
    std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
    const std::string id = std::to_string(number);
    for (unsigned i = 0, count = below(6); i < count; ++i) {
        const unsigned type = below(6), align = 1u << below(8);
        const bool constant = below(4) == 0;
        const size_t entries = std::max<size_t>(1, size_up_to(constant ? 8192 : 2 << 20) / bytes[type]);
        text += below(2) ? ".visible " : "";
        text += constant ? ".const" : ".global";
        text += " .align " + std::to_string(std::max(align, bytes[type])) + " " + types[type] + " ";
        text += (below(3) ? "v" : "$malloc_") + std::to_string(i) + "[" + std::to_string(entries) + "]";
        text += type < 3 && below(2) ? " = {1}" : "";
        text += below(3) ? ";\n" : "; // \"\n";
    }
    for (unsigned f = 0, count = 1 + below(3); f < count; ++f) {
        text += ".visible .entry k" + std::to_string(f) + "(.param .u64 p)\n{\n.reg .u32 %a<4>;\n.reg .u64 %r<3>;\n";
        if (below(3) == 0) {
            text += ".shared .align 4 .b8 s[" + std::to_string(4 * (1 + below(4096))) + "];\n";
        }
        if (below(3) == 0) {
            text += ".local .align 8 .b8 l[" + std::to_string(8 * (1 + below(256))) + "];\n";
        }
        text += "ld.param.u64 %r1, [p];\ncvta.to.global.u64 %r2, %r1;\nmov.u32 %a1, " + id + ";\n";
        for (unsigned i = 0, steps = below(200); i < steps; ++i) {
            text += "mad.lo.u32 %a1, %a1, %a1, " + std::to_string(below(1 << 16)) + ";\n";
        }
        text += "st.global.u32 [%r2], %a1;\nret;\n}\n";
    }
    return text;
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const unsigned modules = static_cast<unsigned>(options.number("modules", 10000));
    const unsigned batch = static_cast<unsigned>(options.number("batch", 250));
    state = static_cast<uint32_t>(options.number("seed", 1));
    options.finish();
    CHECK(cudaFree(nullptr));
    const Driver driver;
    std::vector<void *> loaded;
    unsigned refused = 0;
    const auto report = [&] {
        size_t available, total;
        CHECK(cudaMemGetInfo(&available, &total));
        std::printf("used %zu\n", total - available);
        std::fflush(stdout);
        std::string line;
        std::getline(std::cin, line);
    };
    report();
    for (unsigned number = 1; number <= modules; ++number) {
        const std::string text = generated(number);
        void *module = nullptr, *linker = nullptr, *cubin = nullptr, *kernel;
        size_t bytes;
        int result;
        if (number % 2 == 0) {
            const int ptx = 1; // CU_JIT_INPUT_PTX
            result = driver.link(0, nullptr, nullptr, &linker);
            result = result ? result
                            : driver.add(linker, ptx, text.c_str(), text.size() + 1, "m", 0, nullptr, nullptr);
            result = result ? result : driver.complete(linker, &cubin, &bytes);
            result = result ? result : driver.load(&module, cubin);
            REQUIRE(linker == nullptr || driver.end(linker) == 0, "cuLinkDestroy failed");
        } else {
            result = driver.load(&module, text.c_str());
        }
        // The code of lazily loaded modules is loaded with the first function.
        result = result ? result : driver.function(&kernel, module, "k0");
        refused += result != 0;
        if (module != nullptr) {
            loaded.push_back(module);
        }
        if (number % batch == 0 || number == modules) {
            report();
            for (void *old : loaded) {
                REQUIRE(driver.unload(old) == 0, "cuModuleUnload failed");
            }
            loaded.clear();
        }
    }
    std::printf("{\"program\":\"modules\",\"modules\":%u,\"refused\":%u}\n", modules, refused);
    return 0;
}

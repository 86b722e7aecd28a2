// Attacks with contexts, their limits, modules, streams, and events.
#pragma once

#include "attack_tenant.h"

class Contexts {
  public:
    explicit Contexts(Tenant &tenant) : tenant_(tenant) {
    }

    // Creates several contexts that exist at the same time, and runs a kernel in each.
    void several() {
        std::vector<CUcontext> all;
        for (size_t i = 0, count = 1 + tenant_.random(6); i < count && !tenant_.over(); ++i) {
            CUcontext own;
            if (tenant_.did(CONTEXT, cuCtxCreate_v2_(&own, 0, 0)) == CUDA_SUCCESS) {
                all.push_back(own);
                tenant_.enter(own);
                launch_fresh();
            }
        }
        for (CUcontext own : all) {
            tenant_.call(cuCtxDestroy_v2_(own));
        }
        tenant_.enter_any();
    }

    // In a new context, sets the limits that can't be changed after a kernel has used them.
    void limits() {
        static const Kind kinds[] = {MALLOC, PRINTF, MODULE};
        CUcontext own;
        if (tenant_.did(CONTEXT, cuCtxCreate_v2_(&own, 0, 0)) != CUDA_SUCCESS) {
            return;
        }
        tenant_.enter(own);
        const size_t heap = (8 + tenant_.random(256)) * MIB;
        const size_t fifo = (1 + tenant_.random(63)) * MIB, pending = 2048 + tenant_.random(14000);
        tenant_.did(HEAP_LIMIT, cuCtxSetLimit_(CU_LIMIT_MALLOC_HEAP_SIZE, heap), heap);
        tenant_.did(PRINTF_LIMIT, cuCtxSetLimit_(CU_LIMIT_PRINTF_FIFO_SIZE, fifo), fifo);
        tenant_.did(PENDING_LIMIT,
                    cuCtxSetLimit_(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, pending), pending);
        const auto limit = static_cast<CUlimit>(tenant_.random(12));
        tenant_.did(ABSURD_LIMIT, cuCtxSetLimit_(limit, size_t{1} << (36 + tenant_.random(28))),
                    limit);
        const Kind kind = kinds[tenant_.random(std::size(kinds))];
        const std::string text = kind == MALLOC   ? ALLOCATING
                                 : kind == PRINTF ? PRINTING
                                                  : with_local(2048, tenant_.report().salt++);
        Tenant::Fresh made;
        if (tenant_.load(made, kind, text.c_str())) {
            tenant_.start(made.f, nullptr);
        }
        tenant_.unload(made);
        tenant_.call(cuCtxDestroy_v2_(own));
        tenant_.enter_any();
    }

    // Creates green contexts, one after another, because a driver may keep memory for each of them.
    void green() {
        CUdevResource all{}, part{}, rest{};
        CUdevResourceDesc description;
        CUgreenCtx green;
        CUcontext own;
        unsigned count = 1;
        CUresult result = cuDeviceGetDevResource_(0, &all, CU_DEV_RESOURCE_TYPE_SM);
        if (result == CUDA_SUCCESS) {
            result = cuDevSmResourceSplitByCount_(&part, &count, &all, &rest, 0u,
                                                  all.sm.smCount / 4);
        }
        if (result == CUDA_SUCCESS) {
            result = cuDevResourceGenerateDesc_(&description, &part, 1u);
        }
        if (result == CUDA_SUCCESS) {
            result = cuGreenCtxCreate_(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
        }
        // Count only the first of the calls above that was refused, so that the report shows the
        // reason.
        if (tenant_.did(GREEN, result) != CUDA_SUCCESS) {
            return;
        }
        if (tenant_.call(cuCtxFromGreenCtx_(&own, green))) {
            tenant_.enter(own);
            launch_fresh();
        }
        tenant_.enter_any();
        tenant_.call(cuGreenCtxDestroy_(green));
    }

    // Launches a kernel in its own context and in another one, in a created stream and in the
    // default stream.
    void launch() {
        Tenant::Fresh made;
        CUstream stream = nullptr;
        if (tenant_.fresh(made) && tenant_.call(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING))) {
            tenant_.start(made.f, stream);
            tenant_.stack(1024);
            tenant_.start(made.f, stream);
            tenant_.call(cuStreamSynchronize_(stream));
            if (made.is_kernel) {
                tenant_.enter_any();
                tenant_.start(made.f, nullptr);
                tenant_.stack(1024);
            }
        }
        tenant_.unload(made);
        if (stream != nullptr) {
            tenant_.call(cuStreamDestroy_v2_(stream));
        }
    }

    void module() {
        Tenant::Fresh made;
        made.context = tenant_.current();
        if (tenant_.random(2) == 0) {
            const std::string text = with_local(
                64, tenant_.report().salt++, (1 + tenant_.random(256)) * MIB);
            if (tenant_.load(made, GLOBALS, text.c_str())) {
                tenant_.start(made.f, nullptr);
            }
        } else {
            const std::string text = with_local(16 << 10, tenant_.report().salt++);
            CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL};
            void *values[] = {(void *)(16 + tenant_.random(48)), (void *)tenant_.random(5)};
            if (tenant_.did(JIT, cuModuleLoadDataEx_(&made.module, text.c_str(), 2, options,
                                                     values)) == CUDA_SUCCESS &&
                tenant_.call(cuModuleGetFunction_(&made.f, made.module, "k"))) {
                tenant_.start(made.f, nullptr);
            }
        }
        tenant_.unload(made);
    }

    void streams_and_events() {
        std::vector<CUstream> streams;
        std::vector<CUevent> events;
        for (int i = 0; i < 200 && !tenant_.over(); ++i) {
            CUstream stream;
            if (tenant_.did(STREAM, cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING)) ==
                CUDA_SUCCESS) {
                streams.push_back(stream);
            }
        }
        for (int i = 0; i < 1000 && !tenant_.over(); ++i) {
            CUevent event;
            if (tenant_.did(EVENT, cuEventCreate_(&event, CU_EVENT_DEFAULT)) == CUDA_SUCCESS) {
                tenant_.call(cuEventRecord_(
                    event, streams.empty() ? nullptr : streams[i % streams.size()]));
                events.push_back(event);
            }
        }
        for (CUevent event : events) {
            tenant_.call(cuEventDestroy_v2_(event));
        }
        for (CUstream stream : streams) {
            tenant_.call(cuStreamDestroy_v2_(stream));
        }
    }

  private:
    void launch_fresh() {
        Tenant::Fresh made;
        if (tenant_.fresh(made)) {
            tenant_.stack(1024);
            tenant_.start(made.f, nullptr);
            tenant_.call(cuCtxSynchronize_());
        }
        tenant_.unload(made);
    }

    Tenant &tenant_;
};

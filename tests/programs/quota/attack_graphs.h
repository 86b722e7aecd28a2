// Attacks with graphs: kernels with much local memory that reach the driver in various ways, and
// executable graphs with many branches.
#pragma once

#include "attack_tenant.h"

class Graphs {
  public:
    explicit Graphs(Tenant &tenant) : tenant_(tenant) {
    }

    // Adds a new kernel to a graph, instantiates the graph, lowers the stack limit, and launches
    // the graph.
    void one() {
        Tenant::Fresh made, small;
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        CUstream stream = nullptr;
        const size_t way = tenant_.random(6);
        const bool ready = tenant_.fresh(made) && (way < 4 || load_small(small)) &&
                           tenant_.call(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING));
        if (ready && build(way, graph, made, small, stream) &&
            tenant_.did(INSTANTIATE, cuGraphInstantiateWithFlags_(&exec, graph, 0ull), way) ==
                CUDA_SUCCESS) {
            replace(way, exec, made);
            for (int i = 0; i < 2; ++i) {
                tenant_.stack(1024);
                if (tenant_.random(2) == 0) {
                    // Launch the graph while another context may be current.
                    tenant_.enter_any();
                }
                if (tenant_.random(2) == 0) {
                    tenant_.did(UPLOAD, cuGraphUpload_(exec, stream));
                }
                tenant_.did(GRAPH_LAUNCH, cuGraphLaunch_(exec, stream));
                tenant_.call(cuStreamSynchronize_(stream));
            }
        }
        tenant_.enter(made.context ? made.context : tenant_.current());
        if (stream != nullptr) {
            tenant_.call(cuStreamSynchronize_(stream));
            tenant_.call(cuStreamDestroy_v2_(stream));
        }
        release(graph, exec);
        tenant_.unload(made);
        if (small.module != nullptr) {
            tenant_.unload(small);
        }
    }

    // Creates many executable graphs, each with several branches. The driver needs much more memory
    // for each branch beyond the 32nd.
    void many() {
        static const size_t branches[] = {4, 16, 32, 33, 48, 64};
        Tenant::Fresh made;
        CUstream stream = nullptr;
        std::vector<std::pair<CUgraph, CUgraphExec>> all;
        if (load_small(made) && tenant_.call(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING))) {
            const size_t count = branches[tenant_.random(std::size(branches))];
            const Kind kind = count > 32 ? WIDE : NARROW;
            for (size_t i = 0; i < 8 && !tenant_.over(); ++i) {
                CUgraph graph = nullptr;
                CUgraphExec exec = nullptr;
                if (!tenant_.call(cuGraphCreate_(&graph, 0))) {
                    break;
                }
                for (size_t branch = 0; branch < count; ++branch) {
                    CUgraphNode node;
                    CUDA_KERNEL_NODE_PARAMS kernel = node_of(made);
                    tenant_.call(cuGraphAddKernelNode_v2_(&node, graph, nullptr, 0, &kernel));
                }
                if (tenant_.did(kind, cuGraphInstantiateWithFlags_(&exec, graph, 0ull), count) ==
                    CUDA_SUCCESS) {
                    if (tenant_.random(2) == 0) {
                        tenant_.did(UPLOAD, cuGraphUpload_(exec, stream), count);
                    }
                    tenant_.did(GRAPH_LAUNCH, cuGraphLaunch_(exec, stream), count);
                }
                all.push_back({graph, exec});
            }
        }
        if (stream != nullptr) {
            tenant_.call(cuStreamSynchronize_(stream));
            tenant_.call(cuStreamDestroy_v2_(stream));
        }
        for (const auto &[graph, exec] : all) {
            release(graph, exec);
        }
        tenant_.unload(made);
    }

    // Launches a graph that allocates memory. The driver keeps this memory until it is trimmed.
    void memory() {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        CUgraphNode allocation, free;
        CUDA_MEM_ALLOC_NODE_PARAMS params{};
        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        params.bytesize = (1 + tenant_.random(256)) * MIB;
        tenant_.call(cuGraphCreate_(&graph, 0));
        if (tenant_.did(MEMORY_NODE, cuGraphAddMemAllocNode_(&allocation, graph, nullptr, 0, &params),
                        params.bytesize) == CUDA_SUCCESS &&
            tenant_.call(cuGraphAddMemFreeNode_(&free, graph, &allocation, 1, params.dptr)) &&
            tenant_.did(INSTANTIATE, cuGraphInstantiateWithFlags_(&exec, graph, 0ull)) ==
                CUDA_SUCCESS) {
            tenant_.did(GRAPH_LAUNCH, cuGraphLaunch_(exec, nullptr));
            tenant_.call(cuCtxSynchronize_());
        }
        release(graph, exec);
        tenant_.call(cuDeviceGraphMemTrim_(0));
    }

  private:
    bool load_small(Tenant::Fresh &made) {
        const std::string text = with_local(64, tenant_.report().salt++);
        return tenant_.load(made, MODULE, text.c_str());
    }

    static CUDA_KERNEL_NODE_PARAMS node_of(const Tenant::Fresh &made) {
        CUDA_KERNEL_NODE_PARAMS node{};
        if (made.is_kernel) {
            node.kern = reinterpret_cast<CUkernel>(made.f);
        } else {
            node.func = made.f;
        }
        node.gridDimX = node.gridDimY = node.gridDimZ = 1;
        node.blockDimX = node.blockDimY = node.blockDimZ = 1;
        return node;
    }

    bool add(CUgraph graph, const Tenant::Fresh &made) {
        CUDA_KERNEL_NODE_PARAMS kernel = node_of(made);
        return tenant_.did(KERNEL_NODE,
                           cuGraphAddKernelNode_v2_(&node_, graph, nullptr, 0, &kernel)) ==
               CUDA_SUCCESS;
    }

    bool build(size_t way, CUgraph &graph, const Tenant::Fresh &made, const Tenant::Fresh &small,
               CUstream stream) {
        if (way == 1) {
            if (!tenant_.call(cuStreamBeginCapture_v2_(stream, CU_STREAM_CAPTURE_MODE_RELAXED))) {
                return false;
            }
            tenant_.start(made.f, stream);
            return tenant_.did(CAPTURE, cuStreamEndCapture_(stream, &graph)) == CUDA_SUCCESS;
        }
        CUgraph inner = nullptr;
        if (!tenant_.call(cuGraphCreate_(&graph, 0))) {
            return false;
        }
        switch (way) {
        case 0:
            return add(graph, made);
        case 2: {
            tenant_.call(cuGraphCreate_(&inner, 0));
            const bool added =
                add(inner, made) &&
                tenant_.did(CHILD, cuGraphAddChildGraphNode_(&node_, graph, nullptr, 0, inner)) ==
                    CUDA_SUCCESS;
            tenant_.call(cuGraphDestroy_(inner));
            return added;
        }
        case 3: {
            CUgraphConditionalHandle handle = 0;
            CUgraphNodeParams branch{};
            tenant_.call(cuGraphConditionalHandleCreate_(&handle, graph, tenant_.current(), 1,
                                                         CU_GRAPH_COND_ASSIGN_DEFAULT));
            branch.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
            branch.conditional.handle = handle;
            branch.conditional.type = CU_GRAPH_COND_TYPE_IF;
            branch.conditional.size = 1;
            branch.conditional.ctx = tenant_.current();
            return tenant_.did(CONDITIONAL, cuGraphAddNode_v2_(&node_, graph, nullptr, nullptr, 0,
                                                               &branch)) == CUDA_SUCCESS &&
                   add(branch.conditional.phGraph_out[0], made);
        }
        default:
            // The graph contains a small kernel at first. `replace` replaces it with the other
            // kernel later.
            return add(graph, small);
        }
    }

    void replace(size_t way, CUgraphExec exec, const Tenant::Fresh &made) {
        CUDA_KERNEL_NODE_PARAMS kernel = node_of(made);
        if (way == 4) {
            tenant_.did(SET_NODE, cuGraphExecKernelNodeSetParams_v2_(exec, node_, &kernel));
        } else if (way == 5) {
            CUgraph other = nullptr;
            CUgraphExecUpdateResultInfo info{};
            tenant_.call(cuGraphCreate_(&other, 0));
            if (add(other, made)) {
                tenant_.did(UPDATE, cuGraphExecUpdate_v2_(exec, other, &info));
            }
            tenant_.call(cuGraphDestroy_(other));
        }
    }

    void release(CUgraph graph, CUgraphExec exec) {
        if (exec != nullptr) {
            tenant_.call(cuGraphExecDestroy_(exec));
        }
        if (graph != nullptr) {
            tenant_.call(cuGraphDestroy_(graph));
        }
    }

    Tenant &tenant_;
    CUgraphNode node_ = nullptr;
};

// Kernels of the kinds that need more from the driver than a launch: structs and tensor maps by value, clusters, cooperative launches,
// constants, all of a block's shared memory. The references know the inputs (`fill = "index"`) instead of reading the same arguments.
#include <cooperative_groups.h>

struct Scaled {
    int add;
    float by;
    const float *x;
};

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

__constant__ float weights[16];

extern "C" __global__ void gathered(Scaled s, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = s.x[i] * s.by + s.add;
}

extern "C" __global__ void gathered_plain(Scaled, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i * 1.5f + 7;
}

extern "C" __global__ void weighted(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = weights[i & 15] * x[i];
}

extern "C" __global__ void weighted_plain(const float *, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (float)(i & 15) * i;
}

// Each block of a pair gives what the other one has in its shared memory.
extern "C" __global__ void exchanged(const float *x, float *y, int n)
{
    __shared__ float own[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    own[threadIdx.x] = i < n ? x[i] : 0;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned rank, there, here = (unsigned)__cvta_generic_to_shared(&own[threadIdx.x]);
    float value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (i < n) y[i] = value;
}

extern "C" __global__ void exchanged_plain(const float *, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i ^ 256;
}

// The second half reads what other blocks wrote in the first.
extern "C" __global__ void reversed(const float *x, float *y, float *z, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (int i = first; i < n; i += step) y[i] = 2 * x[i];
    cooperative_groups::this_grid().sync();
    for (int i = first; i < n; i += step) z[i] = y[n - 1 - i];
}

extern "C" __global__ void reversed_plain(const float *, float *y, float *z, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (int i = first; i < n; i += step) {
        y[i] = 2 * i;
        z[i] = 2 * (n - 1 - i);
    }
}

// A box of 32 rows of 32 elements, brought by the tensor memory accelerator.
extern "C" __global__ void boxed(const __grid_constant__ TensorMap map, float *y, int columns)
{
    __shared__ alignas(128) float box[32][32];
    __shared__ alignas(8) unsigned long long arrived;
    unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived), target = (unsigned)__cvta_generic_to_shared(box);
    int column = blockIdx.x * 32, row = blockIdx.y * 32;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.proxy.async;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(barrier) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(target),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier)
                     : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done) {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    }
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[(row + i / 32) * columns + column + i % 32] = box[i / 32][i % 32] + 1;
}

extern "C" __global__ void boxed_plain(TensorMap, float *y, int columns)
{
    int column = blockIdx.x * 32, row = blockIdx.y * 32;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        int at = (row + i / 32) * columns + column + i % 32;
        y[at] = at + 1;
    }
}

// Goes through the last element of its shared memory.
extern "C" __global__ void all_shared(const float *x, float *y, int bytes)
{
    extern __shared__ float room[];
    int last = bytes / 4 - 1;
    room[last - (int)threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = room[last - (int)(blockDim.x - 1 - threadIdx.x)];
}

extern "C" __global__ void all_shared_plain(const float *, float *y, int)
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x * blockDim.x + (blockDim.x - 1 - threadIdx.x);
}

// What the operators' kernels share: the element type, vectors of 16 bytes, and sums over a block.
//
// NVRTC gets this text and a kernel's text as one source, so that no file has to be found at run time. A compiler
// that reads the files themselves (nvcc by hand, c++ for the CPU) includes it.
#ifndef GB_PRELUDE
#define GB_PRELUDE

// The element type T. Only the two small types need a header of the toolkit.
#if defined(GB_DTYPE_F16)
#include <cuda_fp16.h>
typedef __half T;
__device__ __forceinline__ float to_float(T value) { return __half2float(value); }
__device__ __forceinline__ T from_float(float value) { return __float2half_rn(value); }
#elif defined(GB_DTYPE_BF16)
#include <cuda_bf16.h>
// Arithmetic is always done in float: cards before sm_80 have no instructions for this type.
typedef __nv_bfloat16 T;
__device__ __forceinline__ float to_float(T value) { return __bfloat162float(value); }
__device__ __forceinline__ T from_float(float value) { return __float2bfloat16_rn(value); }
#elif defined(GB_DTYPE_F32)
typedef float T;
__device__ __forceinline__ float to_float(T value) { return value; }
__device__ __forceinline__ T from_float(float value) { return value; }
#else
#error "define GB_DTYPE_F32, GB_DTYPE_F16 or GB_DTYPE_BF16"
#endif

// A symbol by which a cubin tells its element type: kernels of all types have the same names.
#ifndef GB_CPU
extern "C" {
#if defined(GB_DTYPE_F16)
__device__ unsigned gb_dtype_f16;
#elif defined(GB_DTYPE_BF16)
__device__ unsigned gb_dtype_bf16;
#else
__device__ unsigned gb_dtype_f32;
#endif
}
#endif

// Shared memory whose size the launch gives.
#ifdef GB_CPU
#define GB_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(gb::dynamic_shared())
#else
#define GB_DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif

#define GB_ALL_LANES 0xffffffffu
#define GB_LEAST (-3.402823466e+38f)

// As much as one thread loads at once: 16 bytes.
#define GB_PACK (16 / sizeof(T))
struct __align__(16) Pack {
    T value[GB_PACK];
};

// Calls each(index, value) for this thread's share of a row. All threads of the block call it.
template <class Each>
__device__ __forceinline__ void read_row(const T *row, unsigned width, Each each)
{
    if (width % GB_PACK == 0) {
        const Pack *packs = reinterpret_cast<const Pack *>(row);
        for (unsigned index = threadIdx.x; index < width / GB_PACK; index += blockDim.x) {
            const Pack pack = packs[index];
#pragma unroll
            for (unsigned part = 0; part < GB_PACK; part++) {
                each(index * (unsigned)GB_PACK + part, to_float(pack.value[part]));
            }
        }
    } else {
        for (unsigned index = threadIdx.x; index < width; index += blockDim.x) {
            each(index, to_float(row[index]));
        }
    }
}

// Writes each(index, value) for this thread's share of a row. All threads of the block call it.
template <class Each>
__device__ __forceinline__ void map_row(const T *from, T *to, unsigned width, Each each)
{
    if (width % GB_PACK == 0) {
        const Pack *packs = reinterpret_cast<const Pack *>(from);
        for (unsigned index = threadIdx.x; index < width / GB_PACK; index += blockDim.x) {
            Pack pack = packs[index];
#pragma unroll
            for (unsigned part = 0; part < GB_PACK; part++) {
                pack.value[part] =
                    from_float(each(index * (unsigned)GB_PACK + part, to_float(pack.value[part])));
            }
            reinterpret_cast<Pack *>(to)[index] = pack;
        }
    } else {
        for (unsigned index = threadIdx.x; index < width; index += blockDim.x) {
            to[index] = from_float(each(index, to_float(from[index])));
        }
    }
}

// Writes each(value) for this thread's share of an array that the whole grid walks.
template <class Each>
__device__ __forceinline__ void map_all(const T *from, T *to, unsigned long long length, Each each)
{
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long stride = gridDim.x * (unsigned long long)blockDim.x;
    const unsigned long long packs = length / GB_PACK;
    for (unsigned long long index = first; index < packs; index += stride) {
        Pack pack = reinterpret_cast<const Pack *>(from)[index];
#pragma unroll
        for (unsigned part = 0; part < GB_PACK; part++) {
            pack.value[part] = from_float(each(to_float(pack.value[part])));
        }
        reinterpret_cast<Pack *>(to)[index] = pack;
    }
    for (unsigned long long index = packs * GB_PACK + first; index < length; index += stride) {
        to[index] = from_float(each(to_float(from[index])));
    }
}

// The sum over all threads of a block, in an order that is always the same: lanes pairwise, then warps one after
// the other. Every thread gets it. A block is of whole warps.
__device__ __forceinline__ float block_sum(float value)
{
    __shared__ float parts[32];
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(GB_ALL_LANES, value, offset);
    }
    // The parts of the call before have been read.
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = value;
    }
    __syncthreads();
    float sum = 0.0f;
    for (unsigned warp = 0; warp < blockDim.x / 32; warp++) {
        sum += parts[warp];
    }
    return sum;
}

// The largest value of all threads of a block; every thread gets it.
__device__ __forceinline__ float block_max(float value)
{
    __shared__ float parts[32];
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(GB_ALL_LANES, value, offset));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = value;
    }
    __syncthreads();
    float largest = parts[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; warp++) {
        largest = fmaxf(largest, parts[warp]);
    }
    return largest;
}

#endif

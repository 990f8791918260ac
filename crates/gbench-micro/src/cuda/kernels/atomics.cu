// How many additions memory itself makes in a time: all to one address, or spread over many.
//
// `n` is a power of two. The factors are odd, so that neighbours in a warp and successive additions of a thread go
// far apart, and the host can count which address gets how many.

__device__ __forceinline__ unsigned gb_target(unsigned thread, unsigned turn, unsigned n)
{
    return (thread * 0x9e3779b1u + turn * 0x85ebca6bu) & (n - 1);
}

extern "C" __global__ void gb_atomics(unsigned *counters, unsigned n, unsigned per_thread)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned turn = 0; turn < per_thread; turn++) {
        atomicAdd(&counters[gb_target(thread, turn, n)], 1u);
    }
}

extern "C" __global__ void gb_atomics_float(float *counters, unsigned n, unsigned per_thread)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned turn = 0; turn < per_thread; turn++) {
        atomicAdd(&counters[gb_target(thread, turn, n)], 1.0f);
    }
}

#ifdef GB_CPU
GB_TWIN(gb_atomics)
GB_TWIN(gb_atomics_float)
#endif

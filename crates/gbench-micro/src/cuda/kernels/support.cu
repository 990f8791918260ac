// What measuring needs on the device beside the kernel that is measured. No header, so that it always compiles.

#ifdef GB_CPU
static __device__ unsigned long long gb_now() { return gb::globaltimer(); }
static __device__ unsigned gb_sm() { return 0; }
#else
__device__ __forceinline__ unsigned long long gb_now()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
__device__ __forceinline__ unsigned gb_sm()
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}
#endif

// Keeps the stream busy until the host sets *flag, so that everything queued meanwhile starts without a gap. It ends
// by itself after limit_ns and says so in *timed_out: a host that never comes back does not leave the card hanging.
extern "C" __global__ void gb_spin(const volatile unsigned *flag, unsigned long long limit_ns, unsigned *timed_out)
{
    if (threadIdx.x != 0 || blockIdx.x != 0) {
        return;
    }
    const unsigned long long begin = gb_now();
    const long long begin_cycles = clock64();
    while (*flag == 0) {
        const bool late = gb_now() - begin > limit_ns;
        // No card runs at 4 GHz: so many cycles are more than the limit even where the timer stands still.
        const bool long_since = (unsigned long long)(clock64() - begin_cycles) / 4 > limit_ns;
#ifdef GB_CPU
        // Time stands still while a kernel runs on the CPU, and so does the host.
        const bool given_up = true;
#else
        const bool given_up = late || long_since;
#endif
        (void)late, (void)long_since;
        if (given_up) {
            *timed_out = 1;
            return;
        }
    }
}

// out[0] = clock64, out[1] = globaltimer, out[2] = 1, by the first block on SM 0: two stamps of one SM give its clock
// rate. The host zeroes out[2]; where it stays so, no block came to SM 0 (a slice of a card may have none).
extern "C" __global__ void gb_stamp(unsigned long long *out)
{
    if (threadIdx.x != 0 || gb_sm() != 0) {
        return;
    }
    if (atomicCAS(&out[2], 0ull, 1ull) == 0ull) {
        out[0] = (unsigned long long)clock64();
        out[1] = gb_now();
    }
}

// Its launch is all that takes time.
extern "C" __global__ void gb_empty() {}

// Fills n words; a buffer of twice the L2 cache leaves nothing else in it.
extern "C" __global__ void gb_fill(unsigned *p, unsigned long long n, unsigned value)
{
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long stride = gridDim.x * (unsigned long long)blockDim.x;
    const unsigned long long vectors = (unsigned long long)p % 16 == 0 ? n / 4 : 0;
    uint4 four;
    four.x = four.y = four.z = four.w = value;
    for (unsigned long long index = first; index < vectors; index += stride) {
        reinterpret_cast<uint4 *>(p)[index] = four;
    }
    for (unsigned long long index = vectors * 4 + first; index < n; index += stride) {
        p[index] = value;
    }
}

// Reads n words that are all zero, and so writes nothing: its lines of the cache are dropped without being written back.
extern "C" __global__ void gb_sweep(unsigned *p, unsigned long long n)
{
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long stride = gridDim.x * (unsigned long long)blockDim.x;
    unsigned seen = 0;
    for (unsigned long long index = first; index < n / 4; index += stride) {
        const uint4 four = reinterpret_cast<const uint4 *>(p)[index];
        seen |= four.x | four.y | four.z | four.w;
    }
    if (seen != 0) {
        p[first % n] = 0;
    }
}

#ifdef GB_CPU
GB_TWIN(gb_spin)
GB_TWIN(gb_stamp)
GB_TWIN(gb_empty)
GB_TWIN(gb_fill)
GB_TWIN(gb_sweep)
#endif

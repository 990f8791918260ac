// Kernels by which the stand-in itself is tested. drive.sm_90.cubin is what NVRTC 13.5 makes of this file:
//
//     -arch=sm_90
#ifdef GB_CPU
static __device__ unsigned long long now() { return gb::globaltimer(); }
#else
__device__ __forceinline__ unsigned long long now()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}
#endif

struct Shift {
    double by;
    int twice;
};

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i];
    }
}

extern "C" __global__ void add(float *x, float value) { x[threadIdx.x] += value; }

// Static shared memory, a barrier, and parameters with gaps between them.
extern "C" __global__ void __launch_bounds__(512) reverse(const float *in, float *out, Shift shift, char more)
{
    __shared__ float kept[512];
    kept[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x] + (float)shift.by + 2 * shift.twice + more;
}

extern "C" __global__ void gb_stamp(unsigned long long *out)
{
    out[0] = (unsigned long long)clock64();
    out[1] = now();
}

extern "C" __global__ void gb_spin(const volatile unsigned *flag, unsigned long long limit_ns, unsigned *timed_out)
{
    const unsigned long long begin = now();
    while (*flag == 0) {
#ifndef GB_CPU
        if (now() - begin <= limit_ns) {
            continue;
        }
#endif
        *timed_out = 1;
        return;
    }
    (void)begin, (void)limit_ns;
}

#ifdef GB_CPU
GB_TWIN(copy)
GB_TWIN(add)
GB_TWIN(reverse)
GB_TWIN(gb_stamp)
GB_TWIN(gb_spin)
#endif

// How much device memory gives and takes: but for copies, four vectors of 16 bytes are under way in every thread.
//
// `vectors` counts float4. A block walks tiles of four times its threads; the grid may be smaller than the tiles, but for copies.

#define GB_WAYS 4

// One vector a thread: an H200 copies 5 % less a second with four, with hints to the cache, or with blocks that stay.
extern "C" __global__ void __launch_bounds__(256) gb_copy(const float4 *from, float4 *to, unsigned long long vectors)
{
    const unsigned long long at = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (at < vectors) {
        to[at] = from[at];
    }
}

// a = b + s * c
extern "C" __global__ void __launch_bounds__(256)
gb_triad(float4 *a, const float4 *b, const float4 *c, float s, unsigned long long vectors)
{
    const unsigned long long tile = GB_WAYS * (unsigned long long)blockDim.x;
    for (unsigned long long first = blockIdx.x * tile + threadIdx.x; first < vectors; first += gridDim.x * tile) {
        float4 one[GB_WAYS];
        float4 other[GB_WAYS];
#pragma unroll
        for (unsigned way = 0; way < GB_WAYS; way++) {
            if (first + way * blockDim.x < vectors) {
                one[way] = b[first + way * blockDim.x];
                other[way] = c[first + way * blockDim.x];
            }
        }
#pragma unroll
        for (unsigned way = 0; way < GB_WAYS; way++) {
            if (first + way * blockDim.x < vectors) {
                float4 sum;
                sum.x = one[way].x + s * other[way].x;
                sum.y = one[way].y + s * other[way].y;
                sum.z = one[way].z + s * other[way].z;
                sum.w = one[way].w + s * other[way].w;
                a[first + way * blockDim.x] = sum;
            }
        }
    }
}

// Each block writes the sum of what it read: so nothing can be left out, and it can be checked.
extern "C" __global__ void __launch_bounds__(256) gb_read(const float4 *from, float *sums, unsigned long long vectors)
{
    __shared__ float parts[32];
    float4 sum[GB_WAYS] = {};
    const unsigned long long tile = GB_WAYS * (unsigned long long)blockDim.x;
    for (unsigned long long first = blockIdx.x * tile + threadIdx.x; first < vectors; first += gridDim.x * tile) {
        float4 value[GB_WAYS];
#pragma unroll
        for (unsigned way = 0; way < GB_WAYS; way++) {
            value[way] = float4{0.0f, 0.0f, 0.0f, 0.0f};
            if (first + way * blockDim.x < vectors) {
                value[way] = from[first + way * blockDim.x];
            }
        }
#pragma unroll
        for (unsigned way = 0; way < GB_WAYS; way++) {
            sum[way].x += value[way].x;
            sum[way].y += value[way].y;
            sum[way].z += value[way].z;
            sum[way].w += value[way].w;
        }
    }
    float total = 0.0f;
#pragma unroll
    for (unsigned way = 0; way < GB_WAYS; way++) {
        total += (sum[way].x + sum[way].y) + (sum[way].z + sum[way].w);
    }
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        total = 0.0f;
        for (unsigned warp = 0; warp < blockDim.x / 32; warp++) {
            total += parts[warp];
        }
        sums[blockIdx.x] = total;
    }
}

extern "C" __global__ void __launch_bounds__(256) gb_write(float4 *to, float value, unsigned long long vectors)
{
    const unsigned long long tile = GB_WAYS * (unsigned long long)blockDim.x;
    const float4 four = {value, value, value, value};
    for (unsigned long long first = blockIdx.x * tile + threadIdx.x; first < vectors; first += gridDim.x * tile) {
#pragma unroll
        for (unsigned way = 0; way < GB_WAYS; way++) {
            if (first + way * blockDim.x < vectors) {
                to[first + way * blockDim.x] = four;
            }
        }
    }
}

#ifdef GB_CPU
GB_TWIN(gb_copy)
GB_TWIN(gb_triad)
GB_TWIN(gb_read)
GB_TWIN(gb_write)
#endif

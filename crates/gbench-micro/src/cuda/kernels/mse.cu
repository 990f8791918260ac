// The mean of the squared differences, in one launch: the block that comes last adds what all blocks left.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

// `partial` has an element for each block; `finished` is zero before the first launch and is zero again after each.
extern "C" __global__ void gb_mse(
    const T *x, const T *target, unsigned long long length, float *partial, unsigned *finished, float *mean)
{
    __shared__ bool last;
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long stride = gridDim.x * (unsigned long long)blockDim.x;
    const unsigned long long packs = length / GB_PACK;
    float sum = 0.0f;
    for (unsigned long long index = first; index < packs; index += stride) {
        const Pack one = reinterpret_cast<const Pack *>(x)[index];
        const Pack other = reinterpret_cast<const Pack *>(target)[index];
#pragma unroll
        for (unsigned part = 0; part < GB_PACK; part++) {
            const float difference = to_float(one.value[part]) - to_float(other.value[part]);
            sum += difference * difference;
        }
    }
    for (unsigned long long index = packs * GB_PACK + first; index < length; index += stride) {
        const float difference = to_float(x[index]) - to_float(target[index]);
        sum += difference * difference;
    }
    sum = block_sum(sum);

    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        // The other blocks see the sum before they see that this block has finished.
        __threadfence();
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        // In an order that is always the same, whichever block comes last.
        __threadfence();
        sum = 0.0f;
        for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
            sum += __ldcg(&partial[block]);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) {
            *mean = sum / (float)length;
        }
    }
}

#ifdef GB_CPU
GB_TWIN(gb_mse)
#endif

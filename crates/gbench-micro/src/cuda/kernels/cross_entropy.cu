// loss = log(sum of exp(logits)) - logits[target], for each row. One block a row, which is read once.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

// The largest value so far and the sum of exp(value - largest): a sum that never overflows (Milakov and
// Gimelshein, 2018). A thread looks at one vector at a time and so scales its sum once for several values.
extern "C" __global__ void gb_cross_entropy(const T *logits, const int *targets, float *losses, unsigned classes)
{
    const T *row = logits + (size_t)blockIdx.x * classes;
    float largest = GB_LEAST;
    float sum = 0.0f;
    if (classes % GB_PACK == 0) {
        for (unsigned index = threadIdx.x; index < classes / GB_PACK; index += blockDim.x) {
            const Pack pack = reinterpret_cast<const Pack *>(row)[index];
            float larger = largest;
#pragma unroll
            for (unsigned part = 0; part < GB_PACK; part++) {
                larger = fmaxf(larger, to_float(pack.value[part]));
            }
            sum *= expf(largest - larger);
            largest = larger;
#pragma unroll
            for (unsigned part = 0; part < GB_PACK; part++) {
                sum += expf(to_float(pack.value[part]) - largest);
            }
        }
    } else {
        for (unsigned index = threadIdx.x; index < classes; index += blockDim.x) {
            const float value = to_float(row[index]);
            const float larger = fmaxf(largest, value);
            sum = sum * expf(largest - larger) + expf(value - larger);
            largest = larger;
        }
    }
    const float row_largest = block_max(largest);
    const float row_sum = block_sum(sum * expf(largest - row_largest));
    if (threadIdx.x == 0) {
        losses[blockIdx.x] = logf(row_sum) + (row_largest - to_float(row[targets[blockIdx.x]]));
    }
}

#ifdef GB_CPU
GB_TWIN(gb_cross_entropy)
#endif

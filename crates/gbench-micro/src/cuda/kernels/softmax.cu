// y = exp(x - max) / sum of exp(x - max), over each row. One block a row.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

extern "C" __global__ void gb_softmax(const T *x, T *y, unsigned width)
{
    const T *row = x + (size_t)blockIdx.x * width;
    float largest = GB_LEAST;
    read_row(row, width, [&](unsigned, float value) { largest = fmaxf(largest, value); });
    largest = block_max(largest);

    float sum = 0.0f;
    read_row(row, width, [&](unsigned, float value) { sum += expf(value - largest); });
    const float share = 1.0f / block_sum(sum);

    map_row(row, y + (size_t)blockIdx.x * width, width, [&](unsigned, float value) {
        return expf(value - largest) * share;
    });
}

#ifdef GB_CPU
GB_TWIN(gb_softmax)
#endif

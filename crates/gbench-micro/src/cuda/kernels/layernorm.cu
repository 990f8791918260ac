// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over each row. One block a row.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

extern "C" __global__ void gb_layernorm(
    const T *x, const T *gamma, const T *beta, T *y, unsigned width, float epsilon)
{
    const T *row = x + (size_t)blockIdx.x * width;
    float sum = 0.0f;
    read_row(row, width, [&](unsigned, float value) { sum += value; });
    const float mean = block_sum(sum) / (float)width;

    // The row is read again rather than its squares summed in the same pass: those lose all digits where the mean is
    // large against the spread. It comes from the SM's own cache.
    float squares = 0.0f;
    read_row(row, width, [&](unsigned, float value) { squares += (value - mean) * (value - mean); });
    const float scale = rsqrtf(block_sum(squares) / (float)width + epsilon);

    map_row(row, y + (size_t)blockIdx.x * width, width, [&](unsigned column, float value) {
        return (value - mean) * scale * to_float(gamma[column]) + to_float(beta[column]);
    });
}

#ifdef GB_CPU
GB_TWIN(gb_layernorm)
#endif

// y = x / (1 + exp(-x))
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

extern "C" __global__ void gb_swish(const T *x, T *y, unsigned long long length)
{
    map_all(x, y, length, [](float value) { return value / (1.0f + expf(-value)); });
}

#ifdef GB_CPU
GB_TWIN(gb_swish)
#endif

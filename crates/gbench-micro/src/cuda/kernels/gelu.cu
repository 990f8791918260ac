// The Gaussian error linear unit: exact, and by the hyperbolic tangent (Hendrycks and Gimpel, 2016).
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

extern "C" __global__ void gb_gelu_erf(const T *x, T *y, unsigned long long length)
{
    map_all(x, y, length, [](float value) { return 0.5f * value * (1.0f + erff(value * 0.70710678f)); });
}

extern "C" __global__ void gb_gelu_tanh(const T *x, T *y, unsigned long long length)
{
    map_all(x, y, length, [](float value) {
        const float inner = 0.79788456f * (value + 0.044715f * value * value * value);
        return 0.5f * value * (1.0f + tanhf(inner));
    });
}

#ifdef GB_CPU
GB_TWIN(gb_gelu_erf)
GB_TWIN(gb_gelu_tanh)
#endif

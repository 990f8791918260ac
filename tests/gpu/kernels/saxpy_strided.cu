// The same answer, for an n that 32 divides. Neighbouring threads touch elements that lie far apart, so that a warp moves 32 lines
// of the cache where one would do.
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i % 32 * (n / 32) + i / 32;
    if (i < n) y[j] = a * x[j] + y[j];
}

// What the twelve cases of the comparisons measure. Of the two loops the time goes by the number of turns, so that a change of it is
// a slowdown of known size.
#define TURNS_OF_TWO 20000
#define TURNS_OF_FIVE 20000

extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.5f * x[i];
}

// The sum of each block.
extern "C" __global__ void sum(const float* x, float* sums, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Each turn needs the one before.
extern "C" __global__ void loop_two(float a, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i;
    for (int turn = 0; turn < TURNS_OF_TWO; turn++) value = a * value + b;
    if (i < n) y[i] = value;
}

extern "C" __global__ void loop_five(float a, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i;
    for (int turn = 0; turn < TURNS_OF_FIVE; turn++) value = a * value + b;
    if (i < n) y[i] = value;
}

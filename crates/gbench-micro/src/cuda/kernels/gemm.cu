// C = A B, all row by row: in float by plain arithmetic, in half types by tensor cores.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

// A block makes a tile of 128 x 128.
#define GB_TILE 128

#ifdef GB_DTYPE_F32

// Depth of a step; the tile of A lies transposed, padded so that its writes spread over the banks.
#define GB_STEP 8
#define GB_PADDED (GB_TILE + 4)

// Four elements of a row from `column` on; zero beyond the matrix.
__device__ __forceinline__ float4 load_four(
    const float *matrix, unsigned row, unsigned column, unsigned rows, unsigned columns)
{
    float4 four = {0.0f, 0.0f, 0.0f, 0.0f};
    if (row < rows && column < columns) {
        const float *from = matrix + (size_t)row * columns + column;
        if (columns % 4 == 0) {
            four = *reinterpret_cast<const float4 *>(from);
        } else {
            four.x = from[0];
            four.y = column + 1 < columns ? from[1] : 0.0f;
            four.z = column + 2 < columns ? from[2] : 0.0f;
            four.w = column + 3 < columns ? from[3] : 0.0f;
        }
    }
    return four;
}

__device__ __forceinline__ void store_four(
    float *matrix, unsigned row, unsigned column, unsigned rows, unsigned columns, const float *four)
{
    if (row < rows && column < columns) {
        float *to = matrix + (size_t)row * columns + column;
        if (columns % 4 == 0) {
            *reinterpret_cast<float4 *>(to) = float4{four[0], four[1], four[2], four[3]};
        } else {
#pragma unroll
            for (unsigned part = 0; part < 4; part++) {
                if (column + part < columns) {
                    to[part] = four[part];
                }
            }
        }
    }
}

// 256 threads, each with 8 x 8 results in registers, as two by two squares of 4 x 4: so the threads of a warp read
// neighbouring vectors of shared memory. While a step is multiplied the next one is loaded.
extern "C" __global__ void __launch_bounds__(256, 2)
gb_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, unsigned m, unsigned n, unsigned k)
{
    __shared__ __align__(16) float tile_a[2][GB_STEP][GB_PADDED];
    __shared__ __align__(16) float tile_b[2][GB_STEP][GB_TILE];
    const unsigned first_row = blockIdx.y * GB_TILE;
    const unsigned first_column = blockIdx.x * GB_TILE;
    const unsigned thread = threadIdx.x;
    const unsigned a_row = thread / 2;
    const unsigned a_depth = thread % 2 * 4;
    const unsigned b_depth = thread / 32;
    const unsigned b_column = thread % 32 * 4;
    const unsigned row = thread / 16 * 4;
    const unsigned column = thread % 16 * 4;

    float4 next_a;
    float4 next_b;
    auto load = [&](unsigned depth) {
        next_a = load_four(a, first_row + a_row, depth + a_depth, m, k);
        next_b = load_four(b, depth + b_depth, first_column + b_column, k, n);
    };
    auto keep = [&](unsigned side) {
        tile_a[side][a_depth + 0][a_row] = next_a.x;
        tile_a[side][a_depth + 1][a_row] = next_a.y;
        tile_a[side][a_depth + 2][a_row] = next_a.z;
        tile_a[side][a_depth + 3][a_row] = next_a.w;
        *reinterpret_cast<float4 *>(&tile_b[side][b_depth][b_column]) = next_b;
    };

    float sum[8][8] = {};
    load(0);
    keep(0);
    __syncthreads();
    unsigned side = 0;
    for (unsigned depth = 0; depth < k; depth += GB_STEP) {
        const bool more = depth + GB_STEP < k;
        if (more) {
            load(depth + GB_STEP);
        }
#pragma unroll
        for (unsigned step = 0; step < GB_STEP; step++) {
            float one[8];
            float other[8];
            *reinterpret_cast<float4 *>(&one[0]) = *reinterpret_cast<const float4 *>(&tile_a[side][step][row]);
            *reinterpret_cast<float4 *>(&one[4]) = *reinterpret_cast<const float4 *>(&tile_a[side][step][row + 64]);
            *reinterpret_cast<float4 *>(&other[0]) = *reinterpret_cast<const float4 *>(&tile_b[side][step][column]);
            *reinterpret_cast<float4 *>(&other[4]) =
                *reinterpret_cast<const float4 *>(&tile_b[side][step][column + 64]);
#pragma unroll
            for (unsigned i = 0; i < 8; i++) {
#pragma unroll
                for (unsigned j = 0; j < 8; j++) {
                    sum[i][j] += one[i] * other[j];
                }
            }
        }
        if (more) {
            keep(side ^ 1);
            __syncthreads();
            side ^= 1;
        }
    }
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        const unsigned at = first_row + row + i % 4 + i / 4 * 64;
        store_four(c, at, first_column + column, m, n, &sum[i][0]);
        store_four(c, at, first_column + column + 64, m, n, &sum[i][4]);
    }
}

#ifdef GB_CPU
GB_TWIN(gb_gemm)
#endif

#else

#include <mma.h>

// Depth of a step. Rows in shared memory are padded by 16 bytes, so that the loads of a tile spread over the banks.
#define GB_STEP 32
#define GB_A_ROW (GB_STEP + 8)
#define GB_B_ROW (GB_TILE + 8)
#define GB_A_TILE (GB_TILE * GB_A_ROW)
#define GB_B_TILE (GB_STEP * GB_B_ROW)
// Results of one square on their way from a warp's registers to memory.
#define GB_OUT_ROW 20

__device__ __forceinline__ Pack load_pack(
    const T *matrix, unsigned row, unsigned column, unsigned rows, unsigned columns)
{
    Pack pack;
    if (row < rows && column < columns && columns % GB_PACK == 0) {
        pack = *reinterpret_cast<const Pack *>(matrix + (size_t)row * columns + column);
    } else {
#pragma unroll
        for (unsigned part = 0; part < GB_PACK; part++) {
            const bool inside = row < rows && column + part < columns;
            pack.value[part] = inside ? matrix[(size_t)row * columns + column + part] : from_float(0.0f);
        }
    }
    return pack;
}

// 8 warps, each with 64 x 32 results as 4 x 2 squares of 16 x 16 in the registers of the tensor cores; sums in float.
// While a step is multiplied the next one is loaded. BF16 needs sm_80: before that the kernel has no body, and the
// suite does not launch it.
extern "C" __global__ void __launch_bounds__(256)
gb_gemm_wmma(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c, unsigned m, unsigned n, unsigned k)
{
#if defined(GB_CPU) || defined(GB_DTYPE_F16) || __CUDA_ARCH__ >= 800
    using namespace nvcuda;
    __shared__ __align__(128) T tiles[2 * (GB_A_TILE + GB_B_TILE)];
    const unsigned first_row = blockIdx.y * GB_TILE;
    const unsigned first_column = blockIdx.x * GB_TILE;
    const unsigned thread = threadIdx.x;
    const unsigned warp = thread / 32;
    const unsigned lane = thread % 32;
    const unsigned warp_row = warp / 4 * 64;
    const unsigned warp_column = warp % 4 * 32;
    const unsigned a_row = thread / 4;
    const unsigned a_depth = thread % 4 * 8;
    const unsigned b_depth = thread / 16;
    const unsigned b_column = thread % 16 * 8;

    Pack next_a[2];
    Pack next_b[2];
    auto load = [&](unsigned depth) {
#pragma unroll
        for (unsigned part = 0; part < 2; part++) {
            next_a[part] = load_pack(a, first_row + a_row + 64 * part, depth + a_depth, m, k);
            next_b[part] = load_pack(b, depth + b_depth + 16 * part, first_column + b_column, k, n);
        }
    };
    auto keep = [&](unsigned side) {
        T *tile_a = tiles + side * (GB_A_TILE + GB_B_TILE);
        T *tile_b = tile_a + GB_A_TILE;
#pragma unroll
        for (unsigned part = 0; part < 2; part++) {
            *reinterpret_cast<Pack *>(tile_a + (a_row + 64 * part) * GB_A_ROW + a_depth) = next_a[part];
            *reinterpret_cast<Pack *>(tile_b + (b_depth + 16 * part) * GB_B_ROW + b_column) = next_b[part];
        }
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
#pragma unroll
        for (unsigned j = 0; j < 2; j++) {
            wmma::fill_fragment(sum[i][j], 0.0f);
        }
    }
    load(0);
    keep(0);
    __syncthreads();
    unsigned side = 0;
    for (unsigned depth = 0; depth < k; depth += GB_STEP) {
        const bool more = depth + GB_STEP < k;
        if (more) {
            load(depth + GB_STEP);
        }
        const T *tile_a = tiles + side * (GB_A_TILE + GB_B_TILE) + warp_row * GB_A_ROW;
        const T *tile_b = tiles + side * (GB_A_TILE + GB_B_TILE) + GB_A_TILE + warp_column;
#pragma unroll
        for (unsigned step = 0; step < GB_STEP; step += 16) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> other[2];
#pragma unroll
            for (unsigned j = 0; j < 2; j++) {
                wmma::load_matrix_sync(other[j], tile_b + step * GB_B_ROW + 16 * j, GB_B_ROW);
            }
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> one;
                wmma::load_matrix_sync(one, tile_a + 16 * i * GB_A_ROW + step, GB_A_ROW);
#pragma unroll
                for (unsigned j = 0; j < 2; j++) {
                    wmma::mma_sync(sum[i][j], one, other[j], sum[i][j]);
                }
            }
        }
        if (more) {
            keep(side ^ 1);
            __syncthreads();
            side ^= 1;
        }
    }

    // The tiles have been used: their memory takes the results.
    __syncthreads();
    float *square = reinterpret_cast<float *>(tiles) + warp * 16 * GB_OUT_ROW;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
#pragma unroll
        for (unsigned j = 0; j < 2; j++) {
            wmma::store_matrix_sync(square, sum[i][j], GB_OUT_ROW, wmma::mem_row_major);
            __syncwarp();
            const unsigned row = first_row + warp_row + 16 * i + lane / 2;
            const unsigned column = first_column + warp_column + 16 * j + lane % 2 * 8;
            const float *from = square + lane / 2 * GB_OUT_ROW + lane % 2 * 8;
            Pack pack;
#pragma unroll
            for (unsigned part = 0; part < GB_PACK; part++) {
                pack.value[part] = from_float(from[part]);
            }
            if (row < m && column < n && n % GB_PACK == 0) {
                *reinterpret_cast<Pack *>(c + (size_t)row * n + column) = pack;
            } else {
#pragma unroll
                for (unsigned part = 0; part < GB_PACK; part++) {
                    if (row < m && column + part < n) {
                        c[(size_t)row * n + column + part] = pack.value[part];
                    }
                }
            }
            // The square has been read before the next one is written over it.
            __syncwarp();
        }
    }
#endif
}

#ifdef GB_CPU
GB_TWIN(gb_gemm_wmma)
#endif

#endif

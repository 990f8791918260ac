// Scaled dot-product attention: softmax(Q K^T scale) V over [heads of all batches, length, depth], depth <= 128.
// blockIdx.y is the head.
#ifndef GB_PRELUDE
#include "prelude.cuh"
#endif

// As the formula says it: a block makes one row of all scores, then their softmax, then the sum of the values.
// Shared memory: length + depth floats.
extern "C" __global__ void gb_sdpa_naive(
    const T *q, const T *k, const T *v, T *out, unsigned length, unsigned depth, float scale, int causal)
{
    GB_DYNAMIC_SHARED(float, memory);
    float *scores = memory;
    float *query = memory + length;
    const size_t head = (size_t)blockIdx.y * length * depth;
    const size_t row = head + (size_t)blockIdx.x * depth;
    const unsigned keys = causal ? blockIdx.x + 1 : length;
    for (unsigned at = threadIdx.x; at < depth; at += blockDim.x) {
        query[at] = to_float(q[row + at]);
    }
    __syncthreads();

    float largest = GB_LEAST;
    for (unsigned key = threadIdx.x; key < keys; key += blockDim.x) {
        const T *entry = k + head + (size_t)key * depth;
        float score = 0.0f;
        if (depth % GB_PACK == 0) {
            for (unsigned at = 0; at < depth / GB_PACK; at++) {
                const Pack pack = reinterpret_cast<const Pack *>(entry)[at];
#pragma unroll
                for (unsigned part = 0; part < GB_PACK; part++) {
                    score += query[at * GB_PACK + part] * to_float(pack.value[part]);
                }
            }
        } else {
            for (unsigned at = 0; at < depth; at++) {
                score += query[at] * to_float(entry[at]);
            }
        }
        scores[key] = score * scale;
        largest = fmaxf(largest, score * scale);
    }
    largest = block_max(largest);

    float sum = 0.0f;
    for (unsigned key = threadIdx.x; key < keys; key += blockDim.x) {
        const float weight = expf(scores[key] - largest);
        scores[key] = weight;
        sum += weight;
    }
    const float share = 1.0f / block_sum(sum);
    for (unsigned at = threadIdx.x; at < depth; at += blockDim.x) {
        float value = 0.0f;
        for (unsigned key = 0; key < keys; key++) {
            value += scores[key] * to_float(v[head + (size_t)key * depth + at]);
        }
        out[row + at] = from_float(value * share);
    }
}

#define GB_ROWS 32
#define GB_KEYS 32
#define GB_DEPTH 128
// Padded so that eight neighbouring rows lie in different banks.
#define GB_DEPTH_ROW (GB_DEPTH + 4)
#define GB_KEYS_ROW (GB_KEYS + 4)

// Rows of a matrix as floats in shared memory; zero beyond `length` and `depth`.
__device__ __forceinline__ void load_rows(
    const T *from, unsigned first, unsigned length, unsigned depth, float (*to)[GB_DEPTH_ROW])
{
    if (depth % GB_PACK == 0) {
        const unsigned packs = depth / GB_PACK;
        for (unsigned index = threadIdx.x; index < 32 * packs; index += blockDim.x) {
            const unsigned row = index / packs;
            const unsigned at = index % packs * (unsigned)GB_PACK;
            if (first + row < length) {
                const Pack pack = *reinterpret_cast<const Pack *>(from + (size_t)(first + row) * depth + at);
#pragma unroll
                for (unsigned part = 0; part < GB_PACK; part++) {
                    to[row][at + part] = to_float(pack.value[part]);
                }
            } else {
#pragma unroll
                for (unsigned part = 0; part < GB_PACK; part++) {
                    to[row][at + part] = 0.0f;
                }
            }
        }
    } else {
        const unsigned width = (depth + 3) / 4 * 4;
        for (unsigned index = threadIdx.x; index < 32 * width; index += blockDim.x) {
            const unsigned row = index / width;
            const unsigned at = index % width;
            const bool inside = first + row < length && at < depth;
            to[row][at] = inside ? to_float(from[(size_t)(first + row) * depth + at]) : 0.0f;
        }
    }
}

// 32 queries a block against 32 keys at a time, with the largest score and the sum so far kept for each query, so
// that no row of scores is ever whole (Milakov and Gimelshein, 2018; Dao and others, 2022). 128 threads: eight
// neighbours share two queries; each has 2 x 4 scores and 2 x 16 columns of the answer.
extern "C" __global__ void __launch_bounds__(128) gb_sdpa_tiled(
    const T *q, const T *k, const T *v, T *out, unsigned length, unsigned depth, float scale, int causal)
{
    __shared__ __align__(16) float queries[GB_ROWS][GB_DEPTH_ROW];
    // The keys, then the values of the same places.
    __shared__ __align__(16) float places[GB_KEYS][GB_DEPTH_ROW];
    __shared__ __align__(16) float weights[GB_ROWS][GB_KEYS_ROW];
    const size_t head = (size_t)blockIdx.y * length * depth;
    const unsigned first = blockIdx.x * GB_ROWS;
    const unsigned pair = threadIdx.x / 8 * 2;
    const unsigned lane = threadIdx.x % 8;

    load_rows(q + head, first, length, depth, queries);
    float answer[2][16] = {};
    float largest[2] = {GB_LEAST, GB_LEAST};
    float sum[2] = {0.0f, 0.0f};
    // Keys after the block's last query do not count if later ones are hidden.
    const unsigned end = causal && first + GB_ROWS < length ? first + GB_ROWS : length;
    for (unsigned begin = 0; begin < end; begin += GB_KEYS) {
        // The values of the step before have been used.
        __syncthreads();
        load_rows(k + head, begin, length, depth, places);
        __syncthreads();
        float score[2][4] = {};
        for (unsigned at = 0; at < depth; at += 4) {
            const float4 one = *reinterpret_cast<const float4 *>(&queries[pair][at]);
            const float4 two = *reinterpret_cast<const float4 *>(&queries[pair + 1][at]);
#pragma unroll
            for (unsigned j = 0; j < 4; j++) {
                const float4 key = *reinterpret_cast<const float4 *>(&places[lane + 8 * j][at]);
                score[0][j] += one.x * key.x + one.y * key.y + one.z * key.z + one.w * key.w;
                score[1][j] += two.x * key.x + two.y * key.y + two.z * key.z + two.w * key.w;
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            const unsigned query = first + pair + i;
            float larger = largest[i];
#pragma unroll
            for (unsigned j = 0; j < 4; j++) {
                const unsigned key = begin + lane + 8 * j;
                const bool seen = key < length && (!causal || key <= query);
                score[i][j] = seen ? score[i][j] * scale : GB_LEAST;
                larger = fmaxf(larger, score[i][j]);
            }
#pragma unroll
            for (unsigned offset = 4; offset > 0; offset /= 2) {
                larger = fmaxf(larger, __shfl_xor_sync(GB_ALL_LANES, larger, offset));
            }
            const float shrink = expf(largest[i] - larger);
            largest[i] = larger;
            float part = 0.0f;
#pragma unroll
            for (unsigned j = 0; j < 4; j++) {
                const unsigned key = begin + lane + 8 * j;
                const bool seen = key < length && (!causal || key <= query);
                const float weight = seen ? expf(score[i][j] - larger) : 0.0f;
                weights[pair + i][lane + 8 * j] = weight;
                part += weight;
            }
#pragma unroll
            for (unsigned offset = 4; offset > 0; offset /= 2) {
                part += __shfl_xor_sync(GB_ALL_LANES, part, offset);
            }
            sum[i] = sum[i] * shrink + part;
#pragma unroll
            for (unsigned at = 0; at < 16; at++) {
                answer[i][at] *= shrink;
            }
        }
        // All keys have been used.
        __syncthreads();
        load_rows(v + head, begin, length, depth, places);
        __syncthreads();
        for (unsigned key = 0; key < GB_KEYS; key++) {
            const float one = weights[pair][key];
            const float two = weights[pair + 1][key];
#pragma unroll
            for (unsigned group = 0; group < 4; group++) {
                const unsigned at = group * 32 + lane * 4;
                if (at < depth) {
                    const float4 value = *reinterpret_cast<const float4 *>(&places[key][at]);
                    answer[0][group * 4 + 0] += one * value.x;
                    answer[0][group * 4 + 1] += one * value.y;
                    answer[0][group * 4 + 2] += one * value.z;
                    answer[0][group * 4 + 3] += one * value.w;
                    answer[1][group * 4 + 0] += two * value.x;
                    answer[1][group * 4 + 1] += two * value.y;
                    answer[1][group * 4 + 2] += two * value.z;
                    answer[1][group * 4 + 3] += two * value.w;
                }
            }
        }
    }
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        const unsigned query = first + pair + i;
        const float share = 1.0f / sum[i];
        if (query < length) {
#pragma unroll
            for (unsigned at = 0; at < 16; at++) {
                const unsigned column = at / 4 * 32 + lane * 4 + at % 4;
                if (column < depth) {
                    out[head + (size_t)query * depth + column] = from_float(answer[i][at] * share);
                }
            }
        }
    }
}

#ifdef GB_CPU
GB_TWIN(gb_sdpa_naive)
GB_TWIN(gb_sdpa_tiled)
#endif

// Stands in for the toolkit's header where a twin is made for the CPU: tiles of 16 x 16 x 16.
//
// Lane 0 of a warp does the work, when it comes to it. Every lane has all elements of a fragment, of which lane 0's
// count: code that changes each element for itself is right, code that knows which lane has which element is not.
// What a load reads and a store writes is ordered by the barriers around it, as on a card.
#ifndef GB_MMA_H
#define GB_MMA_H
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

// By rows; column major says how a matrix lies in memory.
template <class Use, int m, int n, int k, class Element, class Layout = void> struct fragment {
    static_assert(m == 16 && n == 16 && k == 16, "only tiles of 16 x 16 x 16 have a twin");
    enum { num_elements = 256 };
    Element x[256];
};

template <class Use, class Element, class Layout>
inline void fill_fragment(fragment<Use, 16, 16, 16, Element, Layout> &tile, Element value)
{
    std::fill(tile.x, tile.x + 256, value);
}

template <class Use, class Element, class Layout>
inline void load_matrix_sync(fragment<Use, 16, 16, 16, Element, Layout> &tile, const Element *from, unsigned row)
{
    constexpr bool by_columns = std::is_same<Layout, col_major>::value;
    if (gb::lane_number() == 0) {
        for (unsigned at = 0; at < 256; at++) {
            const unsigned i = at / 16, j = at % 16;
            tile.x[at] = by_columns ? from[j * row + i] : from[i * row + j];
        }
    }
}

template <class Element>
inline void load_matrix_sync(
    fragment<accumulator, 16, 16, 16, Element> &tile, const Element *from, unsigned row, layout_t layout)
{
    if (gb::lane_number() == 0) {
        for (unsigned at = 0; at < 256; at++) {
            const unsigned i = at / 16, j = at % 16;
            tile.x[at] = layout == mem_col_major ? from[j * row + i] : from[i * row + j];
        }
    }
}

template <class Element>
inline void store_matrix_sync(
    Element *to, const fragment<accumulator, 16, 16, 16, Element> &tile, unsigned row, layout_t layout)
{
    if (gb::lane_number() == 0) {
        for (unsigned at = 0; at < 256; at++) {
            const unsigned i = at / 16, j = at % 16;
            to[layout == mem_col_major ? j * row + i : i * row + j] = tile.x[at];
        }
    }
}

// D = A B + C with sums in float.
template <class Sum, class Element, class LayoutA, class LayoutB>
inline void mma_sync(
    fragment<accumulator, 16, 16, 16, Sum> &d, const fragment<matrix_a, 16, 16, 16, Element, LayoutA> &a,
    const fragment<matrix_b, 16, 16, 16, Element, LayoutB> &b, const fragment<accumulator, 16, 16, 16, Sum> &c)
{
    if (gb::lane_number() != 0) {
        return;
    }
    float one[256], other[256], sum[256];
    for (unsigned at = 0; at < 256; at++) {
        one[at] = (float)a.x[at];
        other[at] = (float)b.x[at];
        sum[at] = (float)c.x[at];
    }
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned step = 0; step < 16; step++) {
            for (unsigned j = 0; j < 16; j++) {
                sum[i * 16 + j] += one[i * 16 + step] * other[step * 16 + j];
            }
        }
    }
    for (unsigned at = 0; at < 256; at++) {
        d.x[at] = (Sum)sum[at];
    }
}

} // namespace wmma
} // namespace nvcuda

#endif

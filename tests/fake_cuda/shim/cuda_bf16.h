// Stands in for the toolkit's header where a twin is made for the CPU.
#ifndef GB_CUDA_BF16_H
#define GB_CUDA_BF16_H
#include "gb_small.h"

GB_SMALL_TYPE(__nv_bfloat16, __nv_bfloat162, 8, 7)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

static inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
static inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
static inline __nv_bfloat16 __double2bfloat16(double value) { return __nv_bfloat16(value); }
static inline float __bfloat162float(__nv_bfloat16 value) { return (float)value; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return gb_bits<__nv_bfloat16>(bits); }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
static inline __nv_bfloat162 __float2bfloat162_rn(float value)
{
    return {__nv_bfloat16(value), __nv_bfloat16(value)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high)
{
    return {__nv_bfloat16(low), __nv_bfloat16(high)};
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 value)
{
    return {__nv_bfloat16(value.x), __nv_bfloat16(value.y)};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {(float)value.x, (float)value.y}; }
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) { return value.x; }
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) { return value.y; }

#endif

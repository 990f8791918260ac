// Stands in for the toolkit's header where a twin is made for the CPU.
#ifndef GB_CUDA_FP16_H
#define GB_CUDA_FP16_H
#include "gb_small.h"

GB_SMALL_TYPE(__half, __half2, 5, 10)
typedef __half half;
typedef __half2 half2;

static inline __half __float2half(float value) { return __half(value); }
static inline __half __float2half_rn(float value) { return __half(value); }
static inline __half __double2half(double value) { return __half(value); }
static inline __half __int2half_rn(int value) { return __half(value); }
static inline float __half2float(__half value) { return (float)value; }
static inline int __half2int_rn(__half value) { return (int)rintf((float)value); }
static inline __half __ushort_as_half(unsigned short bits) { return gb_bits<__half>(bits); }
static inline unsigned short __half_as_ushort(__half value) { return value.bits; }
static inline __half2 __half2half2(__half value) { return {value, value}; }
static inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
static inline __half2 make_half2(__half low, __half high) { return {low, high}; }
static inline __half2 __float2half2_rn(float value) { return {__half(value), __half(value)}; }
static inline __half2 __floats2half2_rn(float low, float high) { return {__half(low), __half(high)}; }
static inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
static inline float2 __half22float2(__half2 value) { return {(float)value.x, (float)value.y}; }
static inline __half __low2half(__half2 value) { return value.x; }
static inline __half __high2half(__half2 value) { return value.y; }

#endif

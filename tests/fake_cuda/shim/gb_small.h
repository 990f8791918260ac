// Floats of 16 bits for the CPU: rounded to the nearest, ties to even, subnormals and NaN kept.
#ifndef GB_SMALL_H
#define GB_SMALL_H

namespace gb {

// The bits of `value` as a number with so many bits of exponent and mantissa.
template <int exponent_bits, int mantissa_bits> inline unsigned short small_bits(double value)
{
    constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    constexpr unsigned infinite = ((1u << exponent_bits) - 1) << mantissa_bits;
    const unsigned sign = std::signbit(value) ? 0x8000u : 0;
    if (std::isnan(value)) {
        return (unsigned short)(sign | infinite | 1u << (mantissa_bits - 1));
    }
    if (value == 0.0 || std::isinf(value)) {
        return (unsigned short)(sign | (value == 0.0 ? 0 : infinite));
    }
    // In units of the last place that a number of this size has; below the least exponent they grow no smaller.
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    const double units = std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - exponent));
    // A carry out of the mantissa makes the next exponent by itself, and the last one makes infinity.
    const double bits = units + std::ldexp((double)(exponent + bias - 1), mantissa_bits);
    return (unsigned short)(sign | (bits >= infinite ? infinite : (unsigned)bits));
}

template <int exponent_bits, int mantissa_bits> inline float small_value(unsigned short bits)
{
    constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    float value;
    if (exponent == (1 << exponent_bits) - 1) {
        value = mantissa != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
        value = std::ldexp((float)mantissa, 1 - bias - mantissa_bits);
    } else {
        value = std::ldexp((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

} // namespace gb

// A type of 16 bits with the operators that the toolkit's has, each rounded once.
#define GB_SMALL_TYPE(Small, Pair, exponent_bits, mantissa_bits)                                                       \
    struct alignas(2) Small {                                                                                          \
        unsigned short bits;                                                                                           \
        Small() = default;                                                                                             \
        Small(float value) : bits(gb::small_bits<exponent_bits, mantissa_bits>(value)) {}                              \
        Small(double value) : bits(gb::small_bits<exponent_bits, mantissa_bits>(value)) {}                             \
        Small(int value) : bits(gb::small_bits<exponent_bits, mantissa_bits>(value)) {}                                \
        Small(unsigned value) : bits(gb::small_bits<exponent_bits, mantissa_bits>(value)) {}                           \
        operator float() const { return gb::small_value<exponent_bits, mantissa_bits>(bits); }                         \
    };                                                                                                                 \
    struct alignas(4) Pair {                                                                                           \
        Small x, y;                                                                                                    \
        Pair() = default;                                                                                              \
        Pair(Small x, Small y) : x(x), y(y) {}                                                                         \
    };                                                                                                                 \
    static inline Small operator+(Small a, Small b) { return Small((float)a + (float)b); }                             \
    static inline Small operator-(Small a, Small b) { return Small((float)a - (float)b); }                             \
    static inline Small operator*(Small a, Small b) { return Small((float)a * (float)b); }                             \
    static inline Small operator/(Small a, Small b) { return Small((float)a / (float)b); }                             \
    static inline Small operator-(Small a) { return Small(-(float)a); }                                                \
    static inline Small &operator+=(Small &a, Small b) { return a = a + b; }                                           \
    static inline Small &operator-=(Small &a, Small b) { return a = a - b; }                                           \
    static inline Small &operator*=(Small &a, Small b) { return a = a * b; }                                           \
    static inline Small &operator/=(Small &a, Small b) { return a = a / b; }                                           \
    static inline bool operator<(Small a, Small b) { return (float)a < (float)b; }                                     \
    static inline bool operator>(Small a, Small b) { return (float)a > (float)b; }                                     \
    static inline bool operator<=(Small a, Small b) { return (float)a <= (float)b; }                                   \
    static inline bool operator>=(Small a, Small b) { return (float)a >= (float)b; }                                   \
    static inline bool operator==(Small a, Small b) { return (float)a == (float)b; }                                   \
    static inline bool operator!=(Small a, Small b) { return (float)a != (float)b; }                                   \
    static inline Small __hadd(Small a, Small b) { return a + b; }                                                     \
    static inline Small __hsub(Small a, Small b) { return a - b; }                                                     \
    static inline Small __hmul(Small a, Small b) { return a * b; }                                                     \
    static inline Small __hdiv(Small a, Small b) { return a / b; }                                                     \
    static inline Small __hneg(Small a) { return -a; }                                                                 \
    static inline Small __habs(Small a) { return Small(fabsf((float)a)); }                                             \
    static inline Small __hmax(Small a, Small b) { return Small(fmaxf((float)a, (float)b)); }                          \
    static inline Small __hmin(Small a, Small b) { return Small(fminf((float)a, (float)b)); }                          \
    static inline Small __hfma(Small a, Small b, Small c)                                                              \
    {                                                                                                                  \
        return Small((double)(float)a * (double)(float)b + (double)(float)c);                                          \
    }                                                                                                                  \
    static inline bool __hlt(Small a, Small b) { return a < b; }                                                       \
    static inline bool __hgt(Small a, Small b) { return a > b; }                                                       \
    static inline bool __hle(Small a, Small b) { return a <= b; }                                                      \
    static inline bool __hge(Small a, Small b) { return a >= b; }                                                      \
    static inline bool __heq(Small a, Small b) { return a == b; }                                                      \
    static inline bool __hisnan(Small a) { return std::isnan((float)a); }                                              \
    static inline Small hexp(Small a) { return Small(expf((float)a)); }                                                \
    static inline Small hlog(Small a) { return Small(logf((float)a)); }                                                \
    static inline Small hsqrt(Small a) { return Small(sqrtf((float)a)); }                                              \
    static inline Small hrsqrt(Small a) { return Small(rsqrtf((float)a)); }                                            \
    static inline Small hrcp(Small a) { return Small(1.0f / (float)a); }                                               \
    static inline Pair __hadd2(Pair a, Pair b) { return {a.x + b.x, a.y + b.y}; }                                      \
    static inline Pair __hsub2(Pair a, Pair b) { return {a.x - b.x, a.y - b.y}; }                                      \
    static inline Pair __hmul2(Pair a, Pair b) { return {a.x * b.x, a.y * b.y}; }                                      \
    static inline Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                        \
    static inline Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                        \
    static inline Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }      \
    static inline Pair operator+(Pair a, Pair b) { return __hadd2(a, b); }                                             \
    static inline Pair operator-(Pair a, Pair b) { return __hsub2(a, b); }                                             \
    static inline Pair operator*(Pair a, Pair b) { return __hmul2(a, b); }                                             \
    static inline float __low2float(Pair a) { return (float)a.x; }                                                     \
    static inline float __high2float(Pair a) { return (float)a.y; }                                                    \
    static inline Small atomicAdd(Small *at, Small value)                                                              \
    {                                                                                                                  \
        const Small old = *at;                                                                                         \
        *at = old + value;                                                                                             \
        return old;                                                                                                    \
    }

#endif

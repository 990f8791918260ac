// Lets a C++ compiler make a CPU twin of a .cu file: the same text, with the language of CUDA declared here.
//
//     c++ -O2 -std=c++17 -shared -fPIC -DGB_CPU -DGB_DTYPE_F32 -I SHIM -x c++ -include gb_cpu.h -o twins_f32.so *.cu
//
// Kernels of all element types have the same names, so that each type has a library of its own (GB_DTYPE_F16,
// GB_DTYPE_BF16). Files without T need no such define. At the end of a .cu file, or of a file that includes it,
// GB_TWIN(name) exports `gb_cpu_name`.
//
// Blocks run one after the other on the caller's thread, and so do the threads of a block until one of them waits for
// others (a barrier, a shuffle, a vote): only then does it get a stack of its own and the next thread begins. A kernel
// that never waits pays nothing for this. Threads that can never go on end the process with a line that says so.
//
// Not here: inline PTX (keep it out by #ifdef GB_CPU), textures, clusters, cooperative launches, memory models.
// A twin proves nothing about races, since no two threads ever run at the same time.
#ifndef GB_CPU_H
#define GB_CPU_H

// Switching stacks by longjmp is what the checked version of it forbids.
#undef _FORTIFY_SOURCE
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#ifndef GB_CPU
#define GB_CPU 1
#endif
#define __CUDACC__ 1

// What a launch gives to a twin beside the parameters.
struct GbLaunch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned pad;
    unsigned long long globaltimer_ns;
    unsigned long long clock64;
};

// Two libraries of twins have much of the same names in different sizes: nothing but the twins is seen from outside.
#pragma GCC visibility push(hidden)
// Kernels look at the same bytes as several types, which nvcc allows.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-strict-aliasing")
#endif

// --- Vectors -------------------------------------------------------------------------------------------------------

#define GB_VECTORS(type, name, size2, size4)                                                                           \
    struct name##1 { type x; };                                                                                        \
    struct alignas(size2) name##2 { type x, y; };                                                                      \
    struct name##3 { type x, y, z; };                                                                                  \
    struct alignas(size4) name##4 { type x, y, z, w; };                                                                \
    static inline name##1 make_##name##1(type x) { return {x}; }                                                       \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                            \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                 \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
GB_VECTORS(signed char, char, 2, 4)
GB_VECTORS(unsigned char, uchar, 2, 4)
GB_VECTORS(short, short, 4, 8)
GB_VECTORS(unsigned short, ushort, 4, 8)
GB_VECTORS(int, int, 8, 16)
GB_VECTORS(unsigned, uint, 8, 16)
GB_VECTORS(long, long, 16, 16)
GB_VECTORS(unsigned long, ulong, 16, 16)
GB_VECTORS(long long, longlong, 16, 16)
GB_VECTORS(unsigned long long, ulonglong, 16, 16)
GB_VECTORS(float, float, 8, 16)
GB_VECTORS(double, double, 16, 16)
#undef GB_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// Of the thread that runs.
inline uint3 threadIdx = {0, 0, 0};
inline uint3 blockIdx = {0, 0, 0};
inline dim3 blockDim;
inline dim3 gridDim;
static constexpr int warpSize = 32;

// --- Threads -------------------------------------------------------------------------------------------------------

namespace gb {

enum class Wait { nothing, block, warp };

// A stack and the place where it stands.
struct Fiber {
    jmp_buf here;
    ucontext_t begin;
    bool begun = false;
};

struct Lane {
    uint3 index;
    unsigned number;
    Fiber *fiber = nullptr;
    Wait wait = Wait::nothing;
    bool ended = false;
    // Of the exchange within a warp that it waits for.
    unsigned mask = 0;
    unsigned source = 0;
    unsigned long long value = 0;
    unsigned long long received = 0;
    unsigned ballot = 0;
};

// All there is to a launch; one at a time.
struct Machine {
    std::mutex one_at_a_time;
    const GbLaunch *launch = nullptr;
    const char *kernel = "";
    void (*body)(void *) = nullptr;
    void *arguments = nullptr;
    std::vector<Lane> lanes;
    std::vector<Fiber *> idle;
    std::vector<Lane *> ready;
    size_t next_ready = 0;
    unsigned begun = 0;
    unsigned ended = 0;
    unsigned at_barrier = 0;
    unsigned votes = 0;
    unsigned counted = 0;
    Lane *running = nullptr;
    Fiber *fiber = nullptr;
    jmp_buf scheduler;
    std::vector<unsigned char> dynamic;
};
inline Machine machine;

static constexpr size_t stack_bytes = 256 << 10;

[[noreturn]] inline void give_up(const char *why)
{
    fprintf(stderr, "gb_cpu: kernel %s, block (%u, %u, %u): %s\n", machine.kernel, blockIdx.x, blockIdx.y, blockIdx.z,
            why);
    abort();
}

inline void wake(Lane &lane)
{
    lane.wait = Wait::nothing;
    if (&lane != machine.running) {
        machine.ready.push_back(&lane);
    }
}

// The barrier of the block is open if all that have not ended stand at it.
inline void try_block()
{
    if (machine.at_barrier == 0 || machine.at_barrier + machine.ended != machine.lanes.size()) {
        return;
    }
    machine.at_barrier = 0;
    machine.counted = machine.votes;
    machine.votes = 0;
    for (Lane &lane : machine.lanes) {
        if (lane.wait == Wait::block) {
            wake(lane);
        }
    }
}

// The lanes of `mask` exchange what they brought if all of them that have not ended stand there.
inline void try_warp(unsigned warp, unsigned mask)
{
    const unsigned first = warp * 32;
    const unsigned count = std::min<size_t>(32, machine.lanes.size() - first);
    unsigned ballot = 0;
    unsigned here = 0;
    for (unsigned at = 0; at < count; at++) {
        const Lane &lane = machine.lanes[first + at];
        if ((mask >> at & 1) == 0 || lane.ended) {
            continue;
        }
        if (lane.wait != Wait::warp || lane.mask != mask) {
            return;
        }
        here |= 1u << at;
        ballot |= (lane.value != 0 ? 1u : 0u) << at;
    }
    for (unsigned at = 0; at < count; at++) {
        if ((here >> at & 1) != 0) {
            Lane &lane = machine.lanes[first + at];
            // What a lane that takes no part would give is undefined; here one gets back its own.
            const bool takes_part = lane.source < count && (here >> lane.source & 1) != 0;
            lane.received = takes_part ? machine.lanes[first + lane.source].value : lane.value;
            lane.ballot = ballot;
        }
    }
    for (unsigned at = 0; at < count; at++) {
        if ((here >> at & 1) != 0) {
            wake(machine.lanes[first + at]);
        }
    }
}

__attribute__((noinline)) inline void leave()
{
    if (_setjmp(machine.fiber->here) == 0) {
        _longjmp(machine.scheduler, 1);
    }
}

inline void run_on(Lane &lane)
{
    machine.running = &lane;
    threadIdx = lane.index;
}

// The running thread waits for others.
__attribute__((noinline)) inline void wait()
{
    Lane *lane = machine.running;
    if (lane->wait != Wait::nothing) {
        lane->fiber = machine.fiber;
        leave();
    }
}

// What a fiber does: threads that have not begun yet, one after the other.
inline void work()
{
    for (;;) {
        while (machine.begun < machine.lanes.size()) {
            Lane &lane = machine.lanes[machine.begun++];
            run_on(lane);
            machine.body(machine.arguments);
            Lane &done = *machine.running;
            done.ended = true;
            machine.ended++;
            try_block();
            if (done.mask != 0) {
                // Others of its warp may wait for it.
                const unsigned warp = done.number / 32;
                for (unsigned at = warp * 32; at < std::min<size_t>(warp * 32 + 32, machine.lanes.size()); at++) {
                    if (machine.lanes[at].wait == Wait::warp) {
                        try_warp(warp, machine.lanes[at].mask);
                    }
                }
            }
        }
        machine.idle.push_back(machine.fiber);
        leave();
    }
}

inline void *new_stack()
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stack == MAP_FAILED) {
        give_up("no memory for the stack of a thread");
    }
    // A kernel that needs more than this stack ends at once, not somewhere later.
    mprotect(stack, 4096, PROT_NONE);
    return stack;
}

__attribute__((noinline)) inline void resume(Fiber *fiber)
{
    machine.fiber = fiber;
    if (_setjmp(machine.scheduler) == 0) {
        if (machine.fiber->begun) {
            _longjmp(machine.fiber->here, 1);
        }
        machine.fiber->begun = true;
        setcontext(&machine.fiber->begin);
    }
}

inline Fiber *idle_fiber()
{
    if (!machine.idle.empty()) {
        Fiber *fiber = machine.idle.back();
        machine.idle.pop_back();
        return fiber;
    }
    Fiber *fiber = new Fiber;
    getcontext(&fiber->begin);
    fiber->begin.uc_stack.ss_sp = new_stack();
    fiber->begin.uc_stack.ss_size = stack_bytes;
    fiber->begin.uc_link = nullptr;
    makecontext(&fiber->begin, work, 0);
    return fiber;
}

inline void run_block()
{
    for (Lane &lane : machine.lanes) {
        const uint3 index = lane.index;
        const unsigned number = lane.number;
        lane = Lane{};
        lane.index = index;
        lane.number = number;
    }
    machine.begun = machine.ended = machine.at_barrier = machine.votes = machine.counted = 0;
    machine.ready.clear();
    machine.next_ready = 0;
    for (;;) {
        if (machine.next_ready < machine.ready.size()) {
            Lane &lane = *machine.ready[machine.next_ready++];
            if (machine.next_ready == machine.ready.size()) {
                machine.ready.clear();
                machine.next_ready = 0;
            }
            run_on(lane);
            resume(lane.fiber);
        } else if (machine.begun < machine.lanes.size()) {
            resume(idle_fiber());
        } else if (machine.ended == machine.lanes.size()) {
            return;
        } else {
            give_up("its threads wait for each other for ever (a barrier or shuffle that not all of them reach)");
        }
    }
}

inline void run(const char *kernel, const GbLaunch *launch, void (*body)(void *), void *arguments)
{
    const std::lock_guard<std::mutex> guard(machine.one_at_a_time);
    machine.kernel = kernel;
    machine.launch = launch;
    machine.body = body;
    machine.arguments = arguments;
    gridDim = dim3(launch->grid[0], launch->grid[1], launch->grid[2]);
    blockDim = dim3(launch->block[0], launch->block[1], launch->block[2]);
    machine.dynamic.assign(launch->shared_bytes + 128, 0xff);
    const size_t threads = (size_t)blockDim.x * blockDim.y * blockDim.z;
    machine.lanes.assign(threads, Lane{});
    for (unsigned number = 0; number < threads; number++) {
        Lane &lane = machine.lanes[number];
        lane.number = number;
        lane.index = {number % blockDim.x, number / blockDim.x % blockDim.y, number / blockDim.x / blockDim.y};
    }
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++) {
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) {
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
                run_block();
            }
        }
    }
}

// --- What waits ----------------------------------------------------------------------------------------------------

inline unsigned at_barrier(bool vote)
{
    Lane &lane = *machine.running;
    lane.wait = Wait::block;
    machine.at_barrier++;
    machine.votes += vote ? 1 : 0;
    try_block();
    wait();
    return machine.counted;
}

inline Lane &exchange(unsigned mask, unsigned long long value, unsigned source)
{
    Lane &lane = *machine.running;
    if ((mask >> lane.number % 32 & 1) == 0) {
        give_up("a thread takes part in an exchange whose mask leaves it out");
    }
    lane.wait = Wait::warp;
    lane.mask = mask;
    lane.value = value;
    lane.source = source;
    try_warp(lane.number / 32, mask);
    wait();
    return lane;
}

inline unsigned lane_number() { return machine.running->number % 32; }

template <class V> inline V shuffle(unsigned mask, V value, unsigned source)
{
    static_assert(sizeof(V) <= 8 && std::is_trivially_copyable<V>::value, "a shuffle moves up to 8 bytes");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(V));
    const unsigned long long received = exchange(mask, bits, source).received;
    V result;
    memcpy(static_cast<void *>(&result), &received, sizeof(V));
    return result;
}

inline unsigned long long globaltimer() { return machine.launch->globaltimer_ns; }
inline void *dynamic_shared()
{
    const auto at = reinterpret_cast<uintptr_t>(machine.dynamic.data());
    return reinterpret_cast<void *>((at + 127) / 128 * 128);
}

// --- The twin of a kernel ------------------------------------------------------------------------------------------

template <class Kernel> struct Call;
template <class... P> struct Call<void (*)(P...)> {
    void (*kernel)(P...);
    void **parameters;
    template <size_t... I> void with(std::index_sequence<I...>)
    {
        kernel(*static_cast<std::remove_reference_t<P> *>(parameters[I])...);
    }
    static void body(void *self) { static_cast<Call *>(self)->with(std::index_sequence_for<P...>{}); }
};

template <class... P>
inline void twin(const char *name, void (*kernel)(P...), void **parameters, const GbLaunch *launch)
{
    Call<void (*)(P...)> call{kernel, parameters};
    run(name, launch, Call<void (*)(P...)>::body, &call);
}

} // namespace gb

// Exports the twin of a kernel that is called `name` in the cubin (`extern "C"`).
#define GB_TWIN(name) GB_TWIN_AS(name, name)
// Of one that is called otherwise there: GB_TWIN_AS(_Z4blurIfLi4EEvPf, blur<float, 4>).
#define GB_TWIN_AS(name, ...)                                                                                          \
    extern "C" __attribute__((visibility("default"))) void gb_cpu_##name(void **parameters, const GbLaunch *launch);   \
    extern "C" void gb_cpu_##name(void **parameters, const GbLaunch *launch)                                           \
    {                                                                                                                  \
        gb::twin(#name, &__VA_ARGS__, parameters, launch);                                                             \
    }
// Gives `extern __shared__ T name[];` its memory: the size that the launch asks for is within what a card has.
#define GB_SHARED(name)                                                                                                \
    asm(".section .tbss,\"awT\",%nobits\n.globl " #name "\n.hidden " #name "\n.type " #name ",%object\n.size " #name   \
        ",232448\n.balign 128\n" #name ":\n.zero 232448\n.previous\n");

// --- Barriers, shuffles, votes -------------------------------------------------------------------------------------

static inline void __syncthreads() { gb::at_barrier(false); }
static inline int __syncthreads_count(int vote) { return (int)gb::at_barrier(vote != 0); }
static inline int __syncthreads_or(int vote) { return gb::at_barrier(vote != 0) != 0; }
static inline int __syncthreads_and(int vote)
{
    return gb::at_barrier(vote == 0) == 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { gb::exchange(mask, 0, 0); }
template <class V> static inline V __shfl_sync(unsigned mask, V value, int source, int width = 32)
{
    const unsigned first = gb::lane_number() / width * width;
    return gb::shuffle(mask, value, first + (unsigned)source % width);
}
template <class V> static inline V __shfl_xor_sync(unsigned mask, V value, int lanes, int width = 32)
{
    const unsigned lane = gb::lane_number();
    const unsigned source = lane ^ (unsigned)lanes;
    return gb::shuffle(mask, value, source / width <= lane / width ? source : lane);
}
template <class V> static inline V __shfl_up_sync(unsigned mask, V value, unsigned lanes, int width = 32)
{
    const unsigned lane = gb::lane_number();
    return gb::shuffle(mask, value, lane % width >= lanes ? lane - lanes : lane);
}
template <class V> static inline V __shfl_down_sync(unsigned mask, V value, unsigned lanes, int width = 32)
{
    const unsigned lane = gb::lane_number();
    return gb::shuffle(mask, value, lane % width + lanes < (unsigned)width ? lane + lanes : lane);
}
static inline unsigned __ballot_sync(unsigned mask, int vote) { return gb::exchange(mask, vote != 0, 0).ballot; }
static inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
static inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote == 0) == 0; }
template <class V, class Two> static inline V gb_reduce(unsigned mask, V value, Two two)
{
    V result{};
    bool first = true;
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((mask >> lane & 1) != 0) {
            const V other = gb::shuffle(mask, value, lane);
            result = first ? other : two(result, other);
            first = false;
        }
    }
    return result;
}
#define GB_REDUCE(name, type, expression)                                                                              \
    static inline type name(unsigned mask, type value)                                                                 \
    {                                                                                                                  \
        return gb_reduce(mask, value, [](type a, type b) { return (type)(expression); });                              \
    }
GB_REDUCE(__reduce_add_sync, unsigned, a + b)
GB_REDUCE(__reduce_add_sync, int, (int)((unsigned)a + (unsigned)b))
GB_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
GB_REDUCE(__reduce_min_sync, int, a < b ? a : b)
GB_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
GB_REDUCE(__reduce_max_sync, int, a > b ? a : b)
GB_REDUCE(__reduce_and_sync, unsigned, a & b)
GB_REDUCE(__reduce_or_sync, unsigned, a | b)
GB_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef GB_REDUCE
// Of lanes that run together none is known: the one that asks.
static inline unsigned __activemask() { return 1u << gb::lane_number(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
static inline long long clock64() { return (long long)gb::machine.launch->clock64; }
// A function of this name is the host's.
#define clock() ((int)clock64())
[[noreturn]] static inline void __trap() { gb::give_up("it traps"); }

// --- Atomics: no two threads run at the same time ------------------------------------------------------------------

#define GB_ATOMIC(name, type, expression)                                                                              \
    static inline type name(type *at, type value)                                                                      \
    {                                                                                                                  \
        const type old = *at;                                                                                          \
        *at = (expression);                                                                                            \
        return old;                                                                                                    \
    }                                                                                                                  \
    static inline type name##_block(type *at, type value) { return name(at, value); }                                  \
    static inline type name##_system(type *at, type value) { return name(at, value); }
#define GB_ATOMICS_OF_INTEGER(type)                                                                                    \
    GB_ATOMIC(atomicExch, type, value)                                                                                 \
    GB_ATOMIC(atomicMin, type, std::min(old, value))                                                                   \
    GB_ATOMIC(atomicMax, type, std::max(old, value))                                                                   \
    GB_ATOMIC(atomicAnd, type, old & value)                                                                            \
    GB_ATOMIC(atomicOr, type, old | value)                                                                             \
    GB_ATOMIC(atomicXor, type, old ^ value)                                                                            \
    static inline type atomicCAS(type *at, type expected, type value)                                                  \
    {                                                                                                                  \
        const type old = *at;                                                                                          \
        *at = old == expected ? value : old;                                                                           \
        return old;                                                                                                    \
    }                                                                                                                  \
    static inline type atomicCAS_block(type *at, type expected, type value) { return atomicCAS(at, expected, value); } \
    static inline type atomicCAS_system(type *at, type expected, type value) { return atomicCAS(at, expected, value); }
GB_ATOMICS_OF_INTEGER(int)
GB_ATOMICS_OF_INTEGER(unsigned)
GB_ATOMICS_OF_INTEGER(long long)
GB_ATOMICS_OF_INTEGER(unsigned long long)
GB_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
GB_ATOMIC(atomicAdd, unsigned, old + value)
GB_ATOMIC(atomicAdd, unsigned long long, old + value)
GB_ATOMIC(atomicAdd, float, old + value)
GB_ATOMIC(atomicAdd, double, old + value)
GB_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
GB_ATOMIC(atomicSub, unsigned, old - value)
GB_ATOMIC(atomicExch, float, value)
GB_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
GB_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)

// --- Arithmetic ----------------------------------------------------------------------------------------------------

template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
    using Both = std::common_type_t<A, B>;
    return std::is_floating_point<Both>::value ? (Both)std::fmin(a, b) : (Both)a < (Both)b ? (Both)a : (Both)b;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
    using Both = std::common_type_t<A, B>;
    return std::is_floating_point<Both>::value ? (Both)std::fmax(a, b) : (Both)a > (Both)b ? (Both)a : (Both)b;
}
static inline float rsqrtf(float x) { return (float)(1.0 / std::sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline float sinpif(float x) { return (float)std::sin((double)x * M_PI); }
static inline float cospif(float x) { return (float)std::cos((double)x * M_PI); }
static inline float normcdff(float x) { return (float)(0.5 * std::erfc(-(double)x * M_SQRT1_2)); }
static inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
// The C library has functions of these names for itself.
#define __expf(x) expf(x)
#define __exp10f(x) powf(10.0f, x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, sine, cosine) (*(sine) = sinf(x), (void)(*(cosine) = cosf(x)))
static inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
template <class To, class From> static inline To gb_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}
static inline int __float_as_int(float x) { return gb_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return gb_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return gb_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return gb_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return gb_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return gb_bits<double>(x); }
static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline int __float2int_ru(float x) { return (int)ceilf(x); }
static inline unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 32; bit++) {
        reversed |= (x >> bit & 1) << (31 - bit);
    }
    return reversed;
}
static inline int __mul24(int x, int y) { return x * y; }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
#define GB_LOAD(name)                                                                                                  \
    template <class V> static inline V name(const V *at) { return *at; }
GB_LOAD(__ldg)
GB_LOAD(__ldca)
GB_LOAD(__ldcg)
GB_LOAD(__ldcs)
GB_LOAD(__ldcv)
GB_LOAD(__ldlu)
#undef GB_LOAD
#define GB_STORE(name)                                                                                                 \
    template <class V> static inline void name(V *at, V value) { *at = value; }
GB_STORE(__stcg)
GB_STORE(__stcs)
GB_STORE(__stwb)
GB_STORE(__stwt)
#undef GB_STORE
static inline size_t __cvta_generic_to_shared(const void *at) { return (size_t)at; }

// --- Words of the language, after every header that uses them for itself -------------------------------------------

#define __global__
#define __device__
#define __host__
// The driver gives its address, which the loader is asked for.
#define __constant__ __attribute__((visibility("default")))
#define __grid_constant__
// One a block, and blocks run one after the other on one thread. (`static` could not stand beside `extern`.)
#define __shared__ thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#endif

// A host program that drives the stand-in through its public functions: `drive CASE CUBIN`. It prints what it saw, and ends
// with 1 where something differs from what a card would do.
//
// The functions are declared here, so that no header of the toolkit is needed; abi.cpp holds them against cuda.h.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

typedef void *Handle;
typedef unsigned long long Address;
extern "C" {
int cuInit(unsigned);
int cuDeviceGetCount(int *);
int cuDevicePrimaryCtxRetain(Handle *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxSetCurrent(Handle);
int cuCtxGetCurrent(Handle *);
int cuCtxSynchronize();
int cuStreamCreate(Handle *, unsigned);
int cuStreamDestroy_v2(Handle);
int cuStreamSynchronize(Handle);
int cuStreamQuery(Handle);
int cuStreamWaitEvent(Handle, Handle, unsigned);
int cuStreamBeginCapture_v2(Handle, int);
int cuStreamEndCapture(Handle, Handle *);
int cuGraphInstantiateWithFlags(Handle *, Handle, unsigned long long);
int cuGraphLaunch(Handle, Handle);
int cuEventCreate(Handle *, unsigned);
int cuEventDestroy_v2(Handle);
int cuEventRecord(Handle, Handle);
int cuEventSynchronize(Handle);
int cuEventElapsedTime(float *, Handle, Handle);
int cuMemAlloc_v2(Address *, size_t);
int cuMemFree_v2(Address);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemcpyHtoD_v2(Address, const void *, size_t);
int cuMemcpyDtoH_v2(void *, Address, size_t);
int cuMemcpyDtoHAsync_v2(void *, Address, size_t, Handle);
int cuMemsetD8Async(Address, unsigned char, size_t, Handle);
int cuMemsetD32Async(Address, unsigned, size_t, Handle);
int cuModuleLoadData(Handle *, const void *);
int cuModuleGetFunction(Handle *, Handle, const char *);
int cuFuncGetAttribute(int *, int, Handle);
int cuFuncSetAttribute(Handle, int, int);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
}

static int faults = 0;
#define EXPECT(condition)                                       \
    if (!(condition)) {                                         \
        std::printf("line %d: not %s\n", __LINE__, #condition); \
        faults++;                                               \
    }
#define DONE(call) EXPECT((call) == 0)

static std::string image;
static Handle module_, stream;

static Handle function(const char *name)
{
    Handle found = nullptr;
    DONE(cuModuleGetFunction(&found, module_, name));
    return found;
}
static Handle event()
{
    Handle made = nullptr;
    DONE(cuEventCreate(&made, 0));
    return made;
}
static Address device(size_t size)
{
    Address made = 0;
    DONE(cuMemAlloc_v2(&made, size));
    return made;
}
template <class... Value>
static int launch(Handle kernel, unsigned grid, unsigned block, unsigned shared, Handle stream, Value... value)
{
    void *values[] = {&value...};
    return cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, shared, stream, values, nullptr);
}
static float first(Address at)
{
    float value = 0;
    DONE(cuMemcpyDtoH_v2(&value, at, sizeof value));
    return value;
}
static void begin()
{
    Handle context;
    DONE(cuInit(0));
    DONE(cuDevicePrimaryCtxRetain(&context, 0));
    DONE(cuCtxSetCurrent(context));
    DONE(cuModuleLoadData(&module_, image.data()));
    DONE(cuStreamCreate(&stream, 1));
}

// Work is done when it is waited for, and its results are those of the kernels.
static void results()
{
    const int n = 1000;
    std::vector<float> numbers(n);
    for (int i = 0; i < n; i++) {
        numbers[i] = (float)i;
    }
    begin();
    const Address in = device(4 * n), out = device(4 * n);
    float *host = nullptr;
    DONE(cuMemHostAlloc((void **)&host, 4 * n, 2));
    DONE(cuMemcpyHtoD_v2(in, numbers.data(), 4 * n));
    const Handle copy = function("copy"), add = function("add"), reverse = function("reverse");
    DONE(launch(copy, 4, 256, 0, stream, in, out, n));
    DONE(cuMemcpyDtoHAsync_v2(host, out, 4 * n, stream));
    // Nobody waited, and the default stream does not wait for this one.
    EXPECT(host[n - 1] == 0 && first(out + 4) != 1);
    DONE(cuStreamSynchronize(stream));
    EXPECT(host[n - 1] == n - 1 && first(out + 4) == 1);

    struct {
        double by;
        int twice;
    } shift = {0.5, 3};
    DONE(launch(reverse, 1, 512, 0, stream, in, out, shift, (char)2));
    DONE(cuStreamSynchronize(stream));
    EXPECT(first(out) == 511 + 0.5f + 6 + 2);
    int registers = 0, shared = 0;
    DONE(cuFuncGetAttribute(&registers, 4, reverse));
    DONE(cuFuncGetAttribute(&shared, 1, reverse));
    // As cuobjdump says of this file.
    EXPECT(registers == 14 && shared == 3072);

    // Limits of a launch.
    EXPECT(launch(copy, 0, 256, 0, stream, in, out, n) == 1);
    EXPECT(launch(copy, 1, 1025, 0, stream, in, out, n) == 1);
    EXPECT(launch(reverse, 1, 513, 0, stream, in, out, shift, (char)2) == 1);
    EXPECT(launch(copy, 1, 256, 49153, stream, in, out, n) == 1);
    DONE(cuFuncSetAttribute(copy, 8, 49153));
    DONE(launch(copy, 1, 256, 49153, stream, in, out, n));
    EXPECT(cuFuncSetAttribute(copy, 8, 232449) == 1);
    Handle none;
    EXPECT(cuModuleGetFunction(&none, module_, "nobody") == 500);
    EXPECT(cuModuleLoadData(&none, "neither of the two, and long enough for the first part of one") == 218);

    // Memory: its bounds, its amount, and a fill that is put off.
    EXPECT(cuMemcpyHtoD_v2(in + 4 * n - 4, numbers.data(), 8) == 1);
    Address other;
    EXPECT(cuMemAlloc_v2(&other, 81ull << 30) == 2);
    const Address large = device(100 << 20);
    DONE(cuMemsetD32Async(large, 0x3fc00000, 25 << 20, stream));
    DONE(cuMemsetD8Async(large + 4, 0, 4, stream));
    DONE(cuStreamSynchronize(stream));
    EXPECT(first(large) == 1.5f && first(large + 4) == 0 && first(large + (100 << 20) - 4) == 1.5f);
    DONE(cuMemFree_v2(large));
    EXPECT(cuMemcpyHtoD_v2(large, numbers.data(), 4) == 1);

    // One stream behind another, and a graph.
    Handle second, graph, executable;
    const Handle reached = event();
    DONE(cuStreamCreate(&second, 1));
    DONE(cuMemcpyHtoD_v2(in, numbers.data(), 4 * n));
    DONE(launch(add, 1, 8, 0, stream, in, 1.0f));
    DONE(cuEventRecord(reached, stream));
    DONE(cuStreamWaitEvent(second, reached, 0));
    DONE(launch(copy, 1, 8, 0, second, in, out, 8));
    DONE(cuStreamSynchronize(second));
    EXPECT(first(out) == 1);
    DONE(cuStreamBeginCapture_v2(stream, 0));
    for (int i = 0; i < 3; i++) {
        DONE(launch(add, 1, 8, 0, stream, in, 1.0f));
    }
    DONE(cuStreamEndCapture(stream, &graph));
    DONE(cuGraphInstantiateWithFlags(&executable, graph, 0));
    DONE(cuStreamSynchronize(stream));
    EXPECT(first(in) == 1);
    DONE(cuGraphLaunch(executable, stream));
    DONE(cuGraphLaunch(executable, stream));
    DONE(cuStreamSynchronize(stream));
    EXPECT(first(in) == 7);
    DONE(cuStreamBeginCapture_v2(stream, 0));
    EXPECT(cuStreamSynchronize(stream) == 900);
    EXPECT(cuStreamEndCapture(stream, &graph) == 901);

    // A kernel with a pointer to memory that is gone: the device's error, and the context's end.
    DONE(cuMemFree_v2(out));
    DONE(launch(copy, 1, 8, 0, stream, in, out, 8));
    EXPECT(cuStreamSynchronize(stream) == 700);
    EXPECT(cuMemAlloc_v2(&other, 4) == 700);
}

// Prints the milliseconds between two events around one kernel and around five, as the settings make them.
static void times()
{
    begin();
    const Address in = device(4096), out = device(4096);
    const Handle copy = function("copy"), stamp = function("gb_stamp"), spin = function("gb_spin");
    const Handle from = event(), to = event();
    unsigned long long *words = nullptr;
    DONE(cuMemHostAlloc((void **)&words, 64, 2));
    struct {
        int calls;
        bool held, let_go;
    } samples[] = {{1, false, true}, {1, true, true}, {5, true, true}, {1, true, false}};
    for (const auto &sample : samples) {
        std::memset(words, 0, 64);
        // In real time, which a busy machine may take away from this process between two calls.
        const unsigned long long limit = sample.let_go ? 60000000000 : 300000000;
        DONE(cuCtxSynchronize());
        if (sample.held) {
            DONE(launch(stamp, 1, 1, 0, stream, &words[4]));
            DONE(launch(spin, 1, 1, 0, stream, &words[0], limit, &words[1]));
        }
        DONE(cuEventRecord(from, stream));
        for (int i = 0; i < sample.calls; i++) {
            DONE(launch(copy, 1, 256, 0, stream, in, out, 256));
        }
        DONE(cuEventRecord(to, stream));
        DONE(launch(stamp, 1, 1, 0, stream, &words[6]));
        float milliseconds = 0;
        EXPECT(cuEventElapsedTime(&milliseconds, from, to) == 600);
        if (sample.held && !sample.let_go) {
            EXPECT(cuStreamQuery(stream) == 600);
        }
        words[0] = sample.let_go;
        DONE(cuStreamSynchronize(stream));
        DONE(cuEventElapsedTime(&milliseconds, from, to));
        std::printf("%.6f", milliseconds);
        if (sample.held) {
            const double cycles = (double)(words[6] - words[4]), nanoseconds = (double)(words[7] - words[5]);
            std::printf(" %.0f MHz%s", cycles / nanoseconds * 1e3, words[1] ? ", went on by itself" : "");
        }
        std::printf("\n");
    }
}

// Prints each call's code in one line, whatever it is.
static void calls()
{
    int count = -1;
    Handle context = nullptr, made = nullptr, add = nullptr, from = nullptr, to = nullptr;
    Address memory = 0;
    float milliseconds = 0;
    const auto say = [](const char *name, int code) { std::printf("%s=%d ", name, code); };
    say("init", cuInit(0));
    say("count", cuDeviceGetCount(&count));
    std::printf("(%d) ", count);
    say("retain", cuDevicePrimaryCtxRetain(&context, 0));
    say("current", cuCtxSetCurrent(context));
    say("load", cuModuleLoadData(&module_, image.data()));
    say("function", cuModuleGetFunction(&add, module_, "add"));
    say("alloc", cuMemAlloc_v2(&memory, 64));
    say("alloc", cuMemAlloc_v2(&memory, 64));
    say("stream", cuStreamCreate(&stream, 1));
    say("event", cuEventCreate(&from, 0));
    say("event", cuEventCreate(&to, 0));
    say("record", cuEventRecord(from, stream));
    for (int i = 0; i < 4; i++) {
        say("launch", launch(add, 1, 8, 0, stream, memory, 1.0f));
    }
    say("record", cuEventRecord(to, stream));
    say("sync", cuStreamSynchronize(stream));
    say("elapsed", cuEventElapsedTime(&milliseconds, from, to));
    say("elapsed", cuEventElapsedTime(&milliseconds, from, to));
    say("alloc", cuMemAlloc_v2(&memory, 64));
    say("get", cuCtxGetCurrent(&made));
    say("destroy", cuEventDestroy_v2(from));
    say("sync", cuCtxSynchronize());
    std::printf("release=%d\n", cuDevicePrimaryCtxRelease_v2(0));
}

// PTX of CUDA 13, 12 and 11.
static void ptx()
{
    Handle context = nullptr, made = nullptr;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    for (const char *version : {"9.0", "8.4", "7.8"}) {
        const std::string text = "//\n.version " + std::string(version) + "\n.target sm_75\n";
        std::printf("%s=%d ", version, static_cast<int>(cuModuleLoadData(&made, text.c_str())));
    }
}

int main(int argc, char **argv)
{
    const std::string name = argc == 3 ? argv[1] : "";
    std::ifstream file(argc == 3 ? argv[2] : "", std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(file), {});
    if (name == "results") {
        results();
    } else if (name == "times") {
        times();
    } else if (name == "calls") {
        calls();
    } else if (name == "ptx") {
        ptx();
    } else {
        std::printf("drive results|times|calls|ptx CUBIN\n");
        return 2;
    }
    return faults != 0;
}

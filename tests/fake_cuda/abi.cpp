// Holds the stand-in's functions against NVIDIA's own cuda.h: each exported function is one that cuda.h declares, with as
// many parameters, each of the same size. Then some are called through the header's types. Prints what differs, and ends
// with 1 where something does.
//
//     c++ -std=c++17 -I INCLUDE abi.cpp -o abi FOLDER/libcuda.so.1 && LD_LIBRARY_PATH=FOLDER ./abi
//
// INCLUDE holds cuda.h of version 12 or 13, FOLDER the stand-in.

// The header names the functions of each version then, and not only the newest by their short names.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

extern "C" const char *fake_cuda_signature(size_t index);

template <class Answer, class... Parameter> static std::string sizes(Answer (*)(Parameter...))
{
    std::string text = std::to_string(sizeof(Answer));
    ((text += " " + std::to_string(sizeof(Parameter))), ...);
    return text;
}

static std::map<std::string, std::string> declared;
static int faults = 0;

// Weak, so that a function which the stand-in lacks is told instead of stopping the linker.
#define FUNCTION(name)                     \
    extern decltype(name) name __attribute__((weak)); \
    static struct Of_##name {                  \
        Of_##name() { declared[#name] = sizes(&name); } \
    } of_##name;

FUNCTION(cuInit)
FUNCTION(cuDriverGetVersion)
FUNCTION(cuGetErrorName)
FUNCTION(cuGetErrorString)
FUNCTION(cuGetExportTable)
FUNCTION(cuGetProcAddress_v2)
FUNCTION(cuDeviceGetCount)
FUNCTION(cuDeviceGet)
FUNCTION(cuDeviceGetName)
FUNCTION(cuDeviceGetUuid)
FUNCTION(cuDeviceGetUuid_v2)
FUNCTION(cuDeviceGetAttribute)
FUNCTION(cuDeviceTotalMem_v2)
FUNCTION(cuDeviceGetPCIBusId)
FUNCTION(cuDevicePrimaryCtxRetain)
FUNCTION(cuDevicePrimaryCtxRelease_v2)
FUNCTION(cuCtxSetCurrent)
FUNCTION(cuCtxGetCurrent)
FUNCTION(cuCtxSynchronize)
FUNCTION(cuCtxResetPersistingL2Cache)
FUNCTION(cuStreamCreate)
FUNCTION(cuStreamDestroy_v2)
FUNCTION(cuStreamSynchronize)
FUNCTION(cuStreamQuery)
FUNCTION(cuStreamWaitEvent)
FUNCTION(cuStreamBeginCapture_v2)
FUNCTION(cuStreamEndCapture)
FUNCTION(cuEventCreate)
FUNCTION(cuEventDestroy_v2)
FUNCTION(cuEventRecord)
FUNCTION(cuEventQuery)
FUNCTION(cuEventSynchronize)
FUNCTION(cuEventElapsedTime)
FUNCTION(cuMemGetInfo_v2)
FUNCTION(cuMemAlloc_v2)
FUNCTION(cuMemFree_v2)
FUNCTION(cuMemAllocHost_v2)
FUNCTION(cuMemHostAlloc)
FUNCTION(cuMemFreeHost)
FUNCTION(cuMemHostGetDevicePointer_v2)
FUNCTION(cuMemcpyHtoD_v2)
FUNCTION(cuMemcpyDtoH_v2)
FUNCTION(cuMemcpyHtoDAsync_v2)
FUNCTION(cuMemcpyDtoHAsync_v2)
FUNCTION(cuMemcpyDtoDAsync_v2)
FUNCTION(cuMemsetD8_v2)
FUNCTION(cuMemsetD8Async)
FUNCTION(cuMemsetD32Async)
FUNCTION(cuModuleLoadData)
FUNCTION(cuModuleLoadDataEx)
FUNCTION(cuModuleUnload)
FUNCTION(cuModuleGetFunction)
FUNCTION(cuModuleGetGlobal_v2)
FUNCTION(cuFuncGetAttribute)
FUNCTION(cuFuncSetAttribute)
FUNCTION(cuLaunchKernel)
FUNCTION(cuLaunchKernelEx)
FUNCTION(cuTensorMapEncodeTiled)
FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FUNCTION(cuGraphInstantiateWithFlags)
FUNCTION(cuGraphLaunch)
FUNCTION(cuGraphExecDestroy)
FUNCTION(cuGraphDestroy)

static void expect(bool holds, const char *what)
{
    if (!holds) {
        std::printf("wrong: %s\n", what);
        faults++;
    }
}

int main()
{
    int compared = 0;
    for (size_t index = 0; const char *text = fake_cuda_signature(index); index++) {
        const std::string line = text;
        const std::string name = line.substr(0, line.find(' ')), own = line.substr(line.find(' ') + 1);
        if (declared[name] != own) {
            std::printf("%s: %s, and cuda.h says %s\n", name.c_str(), own.c_str(), declared[name].c_str());
            faults++;
        }
        declared.erase(name);
        compared++;
    }
    for (const auto &left : declared) {
        std::printf("%s: not exported\n", left.first.c_str());
        faults++;
    }

    CUdevice device;
    CUcontext context, now;
    CUuuid uuid;
    char name[64];
    int sm = 0;
    size_t free_bytes = 0, total = 0;
    expect(cuInit(0) == CUDA_SUCCESS, "cuInit");
    expect(cuDeviceGet(&device, 0) == CUDA_SUCCESS, "cuDeviceGet");
    expect(cuDeviceGet(&device, 64) == CUDA_ERROR_INVALID_DEVICE, "a device that is not there");
    expect(cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS && std::strlen(name) > 0, "cuDeviceGetName");
    expect(cuDeviceGetUuid_v2(&uuid, 0) == CUDA_SUCCESS && uuid.bytes[15] == 1, "cuDeviceGetUuid_v2");
    expect(cuDeviceGetAttribute(&sm, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) == CUDA_SUCCESS && sm == 9,
           "cuDeviceGetAttribute");
    expect(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS, "cuDevicePrimaryCtxRetain");
    expect(cuCtxSetCurrent(context) == CUDA_SUCCESS, "cuCtxSetCurrent");
    expect(cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context, "cuCtxGetCurrent");
    expect(cuMemGetInfo_v2(&free_bytes, &total) == CUDA_SUCCESS && free_bytes == total, "cuMemGetInfo_v2");

    CUdeviceptr memory;
    CUstream stream;
    CUevent begin, end;
    float milliseconds = -1;
    unsigned long long out = 0;
    expect(cuMemAlloc_v2(&memory, 8) == CUDA_SUCCESS, "cuMemAlloc_v2");
    expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "cuStreamCreate");
    expect(cuEventCreate(&begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "cuEventCreate");
    expect(cuEventCreate(&end, CU_EVENT_DEFAULT) == CUDA_SUCCESS, "cuEventCreate");
    expect(cuEventRecord(begin, stream) == CUDA_SUCCESS, "cuEventRecord");
    expect(cuMemsetD32Async(memory, 0x01020304, 2, stream) == CUDA_SUCCESS, "cuMemsetD32Async");
    expect(cuEventRecord(end, stream) == CUDA_SUCCESS, "cuEventRecord");
    expect(cuEventElapsedTime(&milliseconds, begin, end) == CUDA_ERROR_NOT_READY, "an event that waits");
    expect(cuStreamSynchronize(stream) == CUDA_SUCCESS, "cuStreamSynchronize");
    expect(cuEventElapsedTime(&milliseconds, begin, end) == CUDA_SUCCESS && milliseconds >= 0, "cuEventElapsedTime");
    expect(cuMemcpyDtoH_v2(&out, memory, 8) == CUDA_SUCCESS && out == 0x0102030401020304ull, "cuMemcpyDtoH_v2");

    std::map<int, const char *> codes = {{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                                         {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                         {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"}};
    for (const auto &code : codes) {
        const char *said = nullptr;
        expect(cuGetErrorName((CUresult)code.first, &said) == CUDA_SUCCESS && said && !std::strcmp(said, code.second),
               code.second);
    }
    std::printf("%d functions compared, %d differ\n", compared, faults);
    return faults != 0;
}

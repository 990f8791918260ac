/* Holds the stand-in to NVIDIA's own nvml.h: compiled against it, linked to the stand-in, run by tests/stand_in_nvml.rs.
 *
 * Without arguments: each structure has the size and the offsets that nvml.h gives it, and no answer is written beyond its
 * place. With arguments: asks the first GPU, word by word, and prints a line each: how a program in C sees the stand-in. */

#include <nvml.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fact {
    const char *name;
    size_t value;
};

/* The stand-in's own view, ended by a fact without a name. */
extern const struct fact *fake_nvml_layout(void);

#define SIZE(name, type) {name, sizeof(type)}
#define OFFSET(name, type, field) {name "." #field, offsetof(type, field)}

static const struct fact expected[] = {
    SIZE("Memory", nvmlMemory_v2_t),
    OFFSET("Memory", nvmlMemory_v2_t, version),
    OFFSET("Memory", nvmlMemory_v2_t, total),
    OFFSET("Memory", nvmlMemory_v2_t, reserved),
    OFFSET("Memory", nvmlMemory_v2_t, free),
    OFFSET("Memory", nvmlMemory_v2_t, used),
    SIZE("Process", nvmlProcessInfo_t),
    OFFSET("Process", nvmlProcessInfo_t, pid),
    OFFSET("Process", nvmlProcessInfo_t, usedGpuMemory),
    OFFSET("Process", nvmlProcessInfo_t, gpuInstanceId),
    OFFSET("Process", nvmlProcessInfo_t, computeInstanceId),
    SIZE("PciInfo", nvmlPciInfo_t),
    OFFSET("PciInfo", nvmlPciInfo_t, busIdLegacy),
    OFFSET("PciInfo", nvmlPciInfo_t, domain),
    OFFSET("PciInfo", nvmlPciInfo_t, bus),
    OFFSET("PciInfo", nvmlPciInfo_t, device),
    OFFSET("PciInfo", nvmlPciInfo_t, pciDeviceId),
    OFFSET("PciInfo", nvmlPciInfo_t, pciSubSystemId),
    OFFSET("PciInfo", nvmlPciInfo_t, busId),
    SIZE("Utilization", nvmlUtilization_t),
    OFFSET("Utilization", nvmlUtilization_t, gpu),
    OFFSET("Utilization", nvmlUtilization_t, memory),
    SIZE("ViolationTime", nvmlViolationTime_t),
    OFFSET("ViolationTime", nvmlViolationTime_t, referenceTime),
    OFFSET("ViolationTime", nvmlViolationTime_t, violationTime),
    SIZE("Value", nvmlValue_t),
    SIZE("Sample", nvmlSample_t),
    OFFSET("Sample", nvmlSample_t, timeStamp),
    OFFSET("Sample", nvmlSample_t, sampleValue),
    SIZE("FieldValue", nvmlFieldValue_t),
    OFFSET("FieldValue", nvmlFieldValue_t, fieldId),
    OFFSET("FieldValue", nvmlFieldValue_t, scopeId),
    OFFSET("FieldValue", nvmlFieldValue_t, timestamp),
    OFFSET("FieldValue", nvmlFieldValue_t, latencyUsec),
    OFFSET("FieldValue", nvmlFieldValue_t, valueType),
    OFFSET("FieldValue", nvmlFieldValue_t, nvmlReturn),
    OFFSET("FieldValue", nvmlFieldValue_t, value),
    SIZE("EventData", nvmlEventData_t),
    OFFSET("EventData", nvmlEventData_t, device),
    OFFSET("EventData", nvmlEventData_t, eventType),
    OFFSET("EventData", nvmlEventData_t, eventData),
    OFFSET("EventData", nvmlEventData_t, gpuInstanceId),
    OFFSET("EventData", nvmlEventData_t, computeInstanceId),
};

/* The numbers by which the stand-in knows its fields. */
_Static_assert(
    NVML_FI_DEV_ECC_SBE_VOL_TOTAL == 3 && NVML_FI_DEV_ECC_DBE_VOL_TOTAL == 4 && NVML_FI_DEV_RETIRED_PENDING == 31
        && NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL == 52 && NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL == 59
        && NVML_FI_DEV_PCIE_REPLAY_COUNTER == 94 && NVML_FI_DEV_REMAPPED_COR == 142 && NVML_FI_DEV_REMAPPED_UNC == 143
        && NVML_FI_DEV_REMAPPED_PENDING == 144 && NVML_FI_DEV_REMAPPED_FAILURE == 145,
    "the stand-in's numbers of fields are not those of nvml.h");

static int failures;

static void layouts(void) {
    size_t known = 0;
    for (const struct fact *own = fake_nvml_layout(); own->name != NULL; own++) {
        known++;
    }
    if (known != sizeof expected / sizeof *expected) {
        printf("the stand-in tells %zu facts of its structures, this program %zu\n", known, sizeof expected / sizeof *expected);
        failures++;
    }
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct fact *own = fake_nvml_layout();
        while (own->name != NULL && strcmp(own->name, expected[i].name) != 0) {
            own++;
        }
        if (own->name == NULL || own->value != expected[i].value) {
            printf("%s: nvml.h %zu, the stand-in %zu\n", expected[i].name, expected[i].value, own->value);
            failures++;
        }
    }
}

/* Calls with a place of exactly the right size between guards, and sees that it was filled and nothing beside it. */
#define CALL(type, call)                                                                                              \
    do {                                                                                                              \
        struct {                                                                                                      \
            unsigned char before[16];                                                                                 \
            type out;                                                                                                 \
            unsigned char after[16];                                                                                  \
        } place, untouched;                                                                                           \
        memset(&untouched, 0xa5, sizeof untouched);                                                                   \
        memset(&place, 0xa5, sizeof place);                                                                           \
        type *out = &place.out;                                                                                       \
        nvmlReturn_t code = call;                                                                                     \
        int beside = memcmp(place.before, untouched.before, 16) != 0 || memcmp(place.after, untouched.after, 16) != 0; \
        int filled = memcmp(out, &untouched.out, sizeof *out) != 0;                                                   \
        unsigned char *last = (unsigned char *)(out + 1) - 1;                                                         \
        if (code != NVML_SUCCESS || beside || !filled || *last == 0xa5) {                                             \
            printf("%s: code %d, filled %d, last byte %02x, written beside %d\n", #call, (int)code, filled, *last, beside); \
            failures++;                                                                                               \
        }                                                                                                             \
    } while (0)

static void calls(nvmlDevice_t gpu) {
    CALL(unsigned int, nvmlDeviceGetCount_v2(out));
    CALL(int, nvmlSystemGetCudaDriverVersion_v2(out));
    CALL(nvmlDevice_t, nvmlDeviceGetHandleByIndex_v2(0, out));
    CALL(unsigned int, nvmlDeviceGetIndex(gpu, out));
    CALL(nvmlPciInfo_t, nvmlDeviceGetPciInfo_v3(gpu, out));
    CALL(unsigned int, nvmlDeviceGetApplicationsClock(gpu, NVML_CLOCK_SM, out));
    CALL(unsigned int, nvmlDeviceGetDefaultApplicationsClock(gpu, NVML_CLOCK_SM, out));
    CALL(unsigned int, nvmlDeviceGetEnforcedPowerLimit(gpu, out));
    CALL(unsigned int, nvmlDeviceGetPowerManagementLimit(gpu, out));
    CALL(unsigned int, nvmlDeviceGetPowerManagementDefaultLimit(gpu, out));
    CALL(unsigned int, nvmlDeviceGetPowerUsage(gpu, out));
    CALL(unsigned long long, nvmlDeviceGetTotalEnergyConsumption(gpu, out));
    CALL(nvmlGpuVirtualizationMode_t, nvmlDeviceGetVirtualizationMode(gpu, out));
    CALL(unsigned long long, nvmlDeviceGetCurrentClocksThrottleReasons(gpu, out));
    CALL(unsigned long long, nvmlDeviceGetCurrentClocksEventReasons(gpu, out));
    CALL(nvmlEnableState_t, nvmlDeviceGetPersistenceMode(gpu, out));
    CALL(unsigned int, nvmlDeviceGetCurrPcieLinkGeneration(gpu, out));
    CALL(unsigned int, nvmlDeviceGetMaxPcieLinkGeneration(gpu, out));
    CALL(unsigned int, nvmlDeviceGetCurrPcieLinkWidth(gpu, out));
    CALL(unsigned int, nvmlDeviceGetMaxPcieLinkWidth(gpu, out));
    CALL(unsigned int, nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, out));
    CALL(unsigned int, nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM, out));
    CALL(unsigned int, nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_MEM, out));
    CALL(nvmlUtilization_t, nvmlDeviceGetUtilizationRates(gpu, out));
    CALL(nvmlViolationTime_t, nvmlDeviceGetViolationStatus(gpu, NVML_PERF_POLICY_POWER, out));
    CALL(unsigned long long, nvmlDeviceGetTotalEccErrors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, out));
    CALL(unsigned long long, nvmlDeviceGetMemoryErrorCounter(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                                             NVML_MEMORY_LOCATION_DRAM, out));
    CALL(unsigned long long, nvmlDeviceGetSupportedEventTypes(gpu, out));
    CALL(nvmlEventSet_t, nvmlEventSetCreate(out));
    nvmlEnableState_t pending;
    CALL(nvmlEnableState_t, nvmlDeviceGetEccMode(gpu, out, &pending));
    unsigned int other;
    CALL(unsigned int, nvmlDeviceGetMigMode(gpu, out, &other));
    CALL(unsigned int, nvmlDeviceGetPowerManagementLimitConstraints(gpu, out, &other));
    int minor;
    CALL(int, nvmlDeviceGetCudaComputeCapability(gpu, out, &minor));

    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    nvmlReturn_t code = nvmlDeviceGetMemoryInfo_v2(gpu, &memory);
    if (code != NVML_SUCCESS || memory.total != memory.reserved + memory.free + memory.used) {
        printf("nvmlDeviceGetMemoryInfo_v2: code %d, %llu bytes\n", (int)code, memory.total);
        failures++;
    }
    unsigned int count = 0;
    code = nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, NULL);
    nvmlFieldValue_t fields[3] = {{.fieldId = NVML_FI_DEV_PCIE_REPLAY_COUNTER}, {.fieldId = 1000}, {.fieldId = 7777}};
    nvmlReturn_t asked = nvmlDeviceGetFieldValues(gpu, 2, fields);
    if (asked != NVML_SUCCESS || fields[0].nvmlReturn != NVML_SUCCESS || fields[0].value.ullVal != 0
        || fields[1].nvmlReturn != NVML_ERROR_NOT_SUPPORTED || fields[2].timestamp != 0) {
        printf("fields: codes %d, %d and %d\n", (int)asked, (int)fields[0].nvmlReturn, (int)fields[1].nvmlReturn);
        failures++;
    }
    nvmlReturn_t graphics = nvmlDeviceGetGraphicsRunningProcesses_v3(gpu, &count, NULL);
    if (code != NVML_SUCCESS || graphics != NVML_SUCCESS) {
        printf("processes: codes %d and %d\n", (int)code, (int)graphics);
        failures++;
    }
}

static void print(nvmlReturn_t code, unsigned long long value) {
    code == NVML_SUCCESS ? printf("%llu\n", value) : printf("!%d\n", (int)code);
}

/* One word: what is asked, and after a colon a number for it. */
static void ask(const char *word, nvmlDevice_t gpu, nvmlEventSet_t set) {
    const char *colon = strchr(word, ':');
    unsigned int number = colon == NULL ? 0 : (unsigned int)atoi(colon + 1);
    size_t length = colon == NULL ? strlen(word) : (size_t)(colon - word);
    unsigned int value = 0;
    unsigned long long wide = 0;
#define IS(name) (strlen(name) == length && strncmp(word, name, length) == 0)
    if (IS("sleep")) {
        usleep(number * 1000);
    } else if (IS("handle")) {
        nvmlDevice_t handle;
        print(nvmlDeviceGetHandleByIndex_v2(number, &handle), number);
    } else if (IS("power")) {
        nvmlReturn_t code = nvmlDeviceGetPowerUsage(gpu, &value);
        print(code, value);
    } else if (IS("energy")) {
        nvmlReturn_t code = nvmlDeviceGetTotalEnergyConsumption(gpu, &wide);
        print(code, wide);
    } else if (IS("reasons")) {
        nvmlReturn_t code = nvmlDeviceGetCurrentClocksEventReasons(gpu, &wide);
        print(code, wide);
    } else if (IS("clock")) {
        nvmlReturn_t code = nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM, &value);
        print(code, value);
    } else if (IS("application")) {
        nvmlReturn_t code = nvmlDeviceGetApplicationsClock(gpu, NVML_CLOCK_SM, &value);
        print(code, value);
    } else if (IS("errors")) {
        nvmlReturn_t code =
            nvmlDeviceGetTotalEccErrors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &wide);
        print(code, wide);
    } else if (IS("held")) {
        nvmlViolationTime_t held = {0, 0};
        nvmlReturn_t code = nvmlDeviceGetViolationStatus(gpu, (nvmlPerfPolicyType_t)number, &held);
        print(code, held.violationTime);
    } else if (IS("busy")) {
        nvmlUtilization_t rates = {0, 0};
        nvmlReturn_t code = nvmlDeviceGetUtilizationRates(gpu, &rates);
        print(code, rates.gpu);
    } else if (IS("samples")) {
        nvmlValueType_t type;
        unsigned int count = 0;
        nvmlReturn_t code = nvmlDeviceGetSamples(gpu, (nvmlSamplingType_t)number, 0, &type, &count, NULL);
        nvmlSample_t *samples = calloc(count + 1, sizeof *samples);
        if (code == NVML_SUCCESS) {
            code = nvmlDeviceGetSamples(gpu, (nvmlSamplingType_t)number, 0, &type, &count, samples);
        }
        print(code, code == NVML_SUCCESS ? samples[count - 1].sampleValue.uiVal : 0);
        free(samples);
    } else if (IS("register")) {
        print(nvmlDeviceRegisterEvents(gpu, nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError, set), 0);
    } else if (IS("wait")) {
        nvmlEventData_t event;
        memset(&event, 0, sizeof event);
        nvmlReturn_t code = nvmlEventSetWait_v2(set, &event, number);
        if (code == NVML_SUCCESS) {
            printf("event %llu data %llu of this GPU %d\n", event.eventType, event.eventData, event.device == gpu);
        } else {
            print(code, 0);
        }
    } else if (IS("uuid")) {
        char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
        nvmlDevice_t found = NULL;
        nvmlReturn_t code = nvmlDeviceGetUUID(gpu, uuid, sizeof uuid);
        printf("%s %d %d\n", uuid, (int)code, nvmlDeviceGetHandleByUUID(uuid, &found) == NVML_SUCCESS && found == gpu);
    } else {
        printf("no question is called %s\n", word);
        exit(2);
    }
}

int main(int count, char **words) {
    unsigned int devices = 0;
    if (nvmlDeviceGetCount_v2(&devices) != NVML_ERROR_UNINITIALIZED) {
        printf("it answers before it is started\n");
        failures++;
    }
    nvmlReturn_t code = nvmlInit_v2();
    nvmlEventSet_t set = NULL;
    if (code != NVML_SUCCESS || nvmlEventSetCreate(&set) != NVML_SUCCESS) {
        printf("nvmlInit_v2 or nvmlEventSetCreate: %s\n", nvmlErrorString(code));
        return 1;
    }
    /* Handles are told by the stand-in once, before anything befalls the card. */
    nvmlDevice_t gpu = NULL;
    code = nvmlDeviceGetHandleByIndex_v2(0, &gpu);
    if (count == 1) {
        layouts();
        calls(gpu);
    }
    for (int i = 1; i < count; i++) {
        ask(words[i], gpu, set);
    }
    if (nvmlEventSetFree(set) != NVML_SUCCESS || nvmlShutdown() != NVML_SUCCESS) {
        printf("nvmlEventSetFree or nvmlShutdown fails\n");
        failures++;
    }
    return failures == 0 ? 0 : 1;
}

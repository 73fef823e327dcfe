// NVML's interface with GPUs that never were, for tests. One of three may not be seen, and the last
// tells nothing but its memory. What else happens to the first one stands in the file that
// GCOORD_FAKE_NVML names, one word and number a line, read anew with every call:
//
//   xid N          one event with this number; it happens once for each further such line
//   corrected N, uncorrected N, recoveries N    the counters
//   throttle N     the reasons
//   processes N    with contexts of their own
//   lost N         1: it fell off the bus
//   down N         1: the second of its links is down, and tells no counter
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Process {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

struct Event {
  const void* device;
  unsigned long long type;
  unsigned long long number;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kTimeout = 10;
constexpr int kGpuIsLost = 15;

const char first = 0;
const char third = 0;
const char events = 0;

std::atomic<std::size_t> xids_told{0};

// All numbers behind this word, in the order of the file.
std::vector<unsigned long long> told(const std::string& word) {
  std::vector<unsigned long long> numbers;
  const char* const path = std::getenv("GCOORD_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  std::string name;
  unsigned long long number = 0;
  while (file >> name >> number) {
    if (name == word) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

unsigned long long newest(const std::string& word) {
  const auto numbers = told(word);
  return numbers.empty() ? 0 : numbers.back();
}

bool is_lost(const void* device) {
  return device == &first && newest("lost") != 0;
}

int told_by_first(const void* device) {
  if (is_lost(device)) {
    return kGpuIsLost;
  }
  return device == &first ? kSuccess : kNotSupported;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return kSuccess;
}

int nvmlShutdown() {
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 3;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, const void** device) {
  *device = index == 0 ? &first : &third;
  return index == 1 ? kNoPermission : kSuccess;
}

int nvmlDeviceGetUUID(const void* device, char* text, unsigned int length) {
  std::strncpy(text, device == &first ? "GPU-first" : "GPU-third", length);
  return is_lost(device) ? kGpuIsLost : kSuccess;
}

int nvmlDeviceGetUtilizationRates(const void* device, Utilization* rates) {
  *rates = {73, 12};
  return told_by_first(device);
}

int nvmlDeviceGetMemoryInfo(const void* device, Memory* memory) {
  *memory = device == &first ? Memory{1000, 600, 400} : Memory{1000, 1000, 0};
  return is_lost(device) ? kGpuIsLost : kSuccess;
}

int nvmlDeviceGetPowerUsage(const void* device, unsigned int* milliwatts) {
  *milliwatts = 350'500;
  return told_by_first(device);
}

int nvmlDeviceGetTotalEnergyConsumption(const void* device, unsigned long long* millijoules) {
  static unsigned long long energy = 5000;
  energy += device == &first ? 1500 : 0;
  *millijoules = energy;
  return told_by_first(device);
}

int nvmlDeviceGetTemperature(const void* device, int sensor, unsigned int* degrees) {
  *degrees = 41;
  return sensor == 0 ? told_by_first(device) : kNotSupported;
}

int nvmlDeviceGetTotalEccErrors(const void* device, int kind, int, unsigned long long* count) {
  *count = newest(kind == 0 ? "corrected" : "uncorrected");
  return told_by_first(device);
}

// Two links of the first are active as a rule.
int nvmlDeviceGetNvLinkState(const void* device, unsigned int link, unsigned int* active) {
  *active = link < (newest("down") != 0 ? 1 : 2) ? 1 : 0;
  return told_by_first(device);
}

int nvmlDeviceGetNvLinkErrorCounter(const void* device,
                                    unsigned int link,
                                    unsigned int counter,
                                    unsigned long long* count) {
  *count = counter == 1 && link == 1 ? newest("recoveries") : 0;
  return told_by_first(device);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const void* device, unsigned long long* reasons) {
  *reasons = newest("throttle");
  return told_by_first(device);
}

// One of them is a client of MPS, and stands in both lists.
int nvmlDeviceGetComputeRunningProcesses_v3(const void* device,
                                            unsigned int* count,
                                            Process* processes) {
  const unsigned int own = static_cast<unsigned int>(newest("processes"));
  for (unsigned int k = 0; k < own + 1 && k < *count; ++k) {
    processes[k] = {k + 1, 0, 0, 0};
  }
  *count = own + 1;
  return told_by_first(device);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(const void* device,
                                               unsigned int* count,
                                               Process* processes) {
  processes[0] = {1, 0, 0, 0};
  *count = 1;
  return told_by_first(device);
}

int nvmlEventSetCreate(const void** set) {
  *set = &events;
  return kSuccess;
}

int nvmlEventSetFree(const void*) {
  return kSuccess;
}

int nvmlDeviceRegisterEvents(const void* device, unsigned long long, const void*) {
  return told_by_first(device);
}

int nvmlEventSetWait_v2(const void*, Event* event, unsigned int) {
  const auto xids = told("xid");
  const std::size_t before = xids_told.load();
  if (before >= xids.size()) {
    return kTimeout;
  }
  *event = {&first, 0x8, xids[before], 0, 0};
  ++xids_told;
  return kSuccess;
}

}  // extern "C"

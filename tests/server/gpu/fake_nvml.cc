// NVML's interface with GPUs that never were, for tests. One of three may not be seen, and the last
// tells nothing but its memory.
#include <cstring>

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

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;

const char first = 0;
const char third = 0;

int told_by_first(const void* device) {
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
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(const void* device, Utilization* rates) {
  *rates = {73, 12};
  return told_by_first(device);
}

int nvmlDeviceGetMemoryInfo(const void* device, Memory* memory) {
  *memory = device == &first ? Memory{1000, 600, 400} : Memory{1000, 1000, 0};
  return kSuccess;
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

}  // extern "C"

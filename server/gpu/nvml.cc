#include "server/gpu/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

// The library's types, as far as they are used here; its ABI is stable (suffix _v2 and the like
// name newer forms).
using Device = struct DeviceTag*;

struct Utilization {
  unsigned int gpu = 0;
  unsigned int memory = 0;
};

struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

constexpr int kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;
constexpr std::size_t kUuidBytes = 96;

}  // namespace

class Nvml::Impl {
 public:
  ~Impl() {
    if (started_) {
      shutdown_();
    }
    if (library_ != nullptr) {
      ::dlclose(library_);
    }
  }

  Status start(const std::string& file) {
    library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      return {StatusCode::Unavailable, "no NVML: " + std::string{::dlerror()}};
    }
    const bool whole =
        find(init_, "nvmlInit_v2") && find(shutdown_, "nvmlShutdown") &&
        find(count_, "nvmlDeviceGetCount_v2") && find(by_index_, "nvmlDeviceGetHandleByIndex_v2") &&
        find(uuid_, "nvmlDeviceGetUUID") && find(utilization_, "nvmlDeviceGetUtilizationRates") &&
        find(memory_, "nvmlDeviceGetMemoryInfo") && find(power_, "nvmlDeviceGetPowerUsage") &&
        find(energy_, "nvmlDeviceGetTotalEnergyConsumption") &&
        find(temperature_, "nvmlDeviceGetTemperature");
    if (!whole) {
      return {StatusCode::Unavailable, file + " is no NVML, or too old"};
    }
    if (const int error = init_(); error != kSuccess) {
      return {StatusCode::Unavailable, "nvmlInit says " + std::to_string(error)};
    }
    started_ = true;
    return look_for_devices();
  }

  std::size_t count() const { return devices_.size(); }

  std::string uuid(std::size_t gpu) const {
    std::array<char, kUuidBytes> text{};
    const bool told = uuid_(devices_.at(gpu), text.data(), text.size() - 1) == kSuccess;
    return told ? text.data() : std::to_string(gpu);
  }

  GpuFacts read(std::size_t gpu) const {
    const Device device = devices_.at(gpu);
    GpuFacts facts;
    if (Utilization use; utilization_(device, &use) == kSuccess) {
      facts.busy_percent = use.gpu;
    }
    if (Memory memory; memory_(device, &memory) == kSuccess) {
      facts.memory_used_bytes = memory.used;
      facts.memory_total_bytes = memory.total;
    }
    if (unsigned int power = 0; power_(device, &power) == kSuccess) {
      facts.power_mw = power;
    }
    if (unsigned long long energy = 0; energy_(device, &energy) == kSuccess) {
      facts.energy_mj = energy;
    }
    if (unsigned int degrees = 0; temperature_(device, kTemperatureOfGpu, &degrees) == kSuccess) {
      facts.temperature_c = degrees;
    }
    return facts;
  }

 private:
  template <typename Function>
  bool find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
    return function != nullptr;
  }

  Status look_for_devices() {
    unsigned int count = 0;
    if (const int error = count_(&count); error != kSuccess) {
      return {StatusCode::Unavailable, "nvmlDeviceGetCount says " + std::to_string(error)};
    }
    for (unsigned int index = 0; index < count; ++index) {
      // One that this process may not see is left out.
      if (Device device = nullptr; by_index_(index, &device) == kSuccess) {
        devices_.push_back(device);
      }
    }
    return {};
  }

  void* library_ = nullptr;
  bool started_ = false;
  std::vector<Device> devices_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned int*) = nullptr;
  int (*by_index_)(unsigned int, Device*) = nullptr;
  int (*uuid_)(Device, char*, unsigned int) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*power_)(Device, unsigned int*) = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  int (*temperature_)(Device, int, unsigned int*) = nullptr;
};

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Nvml::~Nvml() = default;

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& library) {
  auto impl = std::make_unique<Impl>();
  GCOORD_TRY_STATUS(impl->start(library));
  return std::unique_ptr<Nvml>(new Nvml(std::move(impl)));
}

std::size_t Nvml::count() const {
  return impl_->count();
}

std::string Nvml::uuid(std::size_t gpu) const {
  return impl_->uuid(gpu);
}

GpuFacts Nvml::read(std::size_t gpu) const {
  return impl_->read(gpu);
}

GpuSource nvml_source(std::string library) {
  return [library = std::move(library),
          nvml = std::shared_ptr<Nvml>()]() mutable -> Result<std::vector<GpuReading>> {
    if (nvml == nullptr) {
      GCOORD_TRY(nvml, Nvml::open(library));
    }
    std::vector<GpuReading> gpus;
    for (std::size_t gpu = 0; gpu < nvml->count(); ++gpu) {
      gpus.push_back({nvml->uuid(gpu), nvml->read(gpu)});
    }
    return gpus;
  };
}

}  // namespace gcoord::server

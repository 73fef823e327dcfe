#include "server/gpu/nvml.h"

#include "server/gpu/link_counts.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
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

struct Process {  // Of nvmlDeviceGetComputeRunningProcesses_v3.
  unsigned int pid = 0;
  unsigned long long used = 0;
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
};

using EventSet = struct EventSetTag*;

struct Event {
  Device device = nullptr;
  unsigned long long type = 0;
  unsigned long long number = 0;  // Of an Xid event.
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
};

constexpr int kSuccess = 0;
constexpr int kMoreThanRoom = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
constexpr int kGpuIsLost = 15;    // NVML_ERROR_GPU_IS_LOST
constexpr int kTemperatureOfGpu = 0;
constexpr int kCorrected = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceDriver = 0;  // NVML_VOLATILE_ECC
constexpr unsigned long long kXidEvent = 0x8;
constexpr std::size_t kUuidBytes = 96;
constexpr std::size_t kProcessesMax = 256;

}  // namespace

class Nvml::Impl {
 public:
  ~Impl() {
    if (events_ != nullptr) {
      newer_.free_events(events_);
    }
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
    find_what_newer_drivers_have();
    GCOORD_TRY_STATUS(look_for_devices());
    register_events();
    return {};
  }

  std::size_t count() const { return devices_.size(); }

  const std::string& uuid(std::size_t gpu) const { return uuids_.at(gpu); }

  GpuFacts read(std::size_t gpu) {
    const Device device = devices_.at(gpu);
    GpuFacts facts;
    const auto told = [&facts](int answer) {
      facts.lost = facts.lost || answer == kGpuIsLost;
      return answer == kSuccess;
    };
    if (Utilization use; told(utilization_(device, &use))) {
      facts.busy_percent = use.gpu;
    }
    if (Memory memory; told(memory_(device, &memory))) {
      facts.memory_used_bytes = memory.used;
      facts.memory_total_bytes = memory.total;
    }
    if (unsigned int power = 0; told(power_(device, &power))) {
      facts.power_mw = power;
    }
    if (unsigned long long energy = 0; told(energy_(device, &energy))) {
      facts.energy_mj = energy;
    }
    if (unsigned int degrees = 0; told(temperature_(device, kTemperatureOfGpu, &degrees))) {
      facts.temperature_c = degrees;
    }
    read_errors(device, facts);
    read_links(gpu, facts);
    if (unsigned long long why = 0;
        newer_.throttle != nullptr && newer_.throttle(device, &why) == kSuccess) {
      facts.throttle = why;
    }
    facts.processes = count_processes(device);
    return facts;
  }

  std::vector<std::pair<std::size_t, std::uint32_t>> take_xids() {
    std::vector<std::pair<std::size_t, std::uint32_t>> taken;
    Event event;
    while (events_ != nullptr && taken.size() < kXidsMax &&
           newer_.wait_events(events_, &event, 0) == kSuccess) {
      const auto gpu = std::ranges::find(devices_, event.device);
      if (event.type == kXidEvent && gpu != devices_.end()) {
        taken.emplace_back(gpu - devices_.begin(), static_cast<std::uint32_t>(event.number));
      }
    }
    return taken;
  }

 private:
  template <typename Function>
  bool find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
    return function != nullptr;
  }

  // Functions that a driver may lack; what they would tell is absent then.
  void find_what_newer_drivers_have() {
    find(newer_.ecc, "nvmlDeviceGetTotalEccErrors");
    find(newer_.link_state, "nvmlDeviceGetNvLinkState");
    find(newer_.link_errors, "nvmlDeviceGetNvLinkErrorCounter");
    find(newer_.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(newer_.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    find(newer_.mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
    const bool events = find(newer_.create_events, "nvmlEventSetCreate") &&
                        find(newer_.free_events, "nvmlEventSetFree") &&
                        find(newer_.register_events, "nvmlDeviceRegisterEvents") &&
                        find(newer_.wait_events, "nvmlEventSetWait_v2");
    if (!events) {
      newer_.create_events = nullptr;
    }
  }

  void register_events() {
    if (newer_.create_events == nullptr || newer_.create_events(&events_) != kSuccess) {
      events_ = nullptr;
      return;
    }
    for (const Device device : devices_) {
      newer_.register_events(device, kXidEvent, events_);  // One that has none stays without.
    }
  }

  void read_errors(Device device, GpuFacts& facts) const {
    const auto ecc = [&](int kind) -> std::optional<std::uint64_t> {
      unsigned long long count = 0;
      const bool told =
          newer_.ecc != nullptr && newer_.ecc(device, kind, kSinceDriver, &count) == kSuccess;
      return told ? std::optional<std::uint64_t>{count} : std::nullopt;
    };
    facts.ecc_corrected = ecc(kCorrected);
    facts.ecc_uncorrected = ecc(kUncorrected);
  }

  void read_links(std::size_t gpu, GpuFacts& facts) {
    if (newer_.link_state == nullptr || newer_.link_errors == nullptr) {
      return;
    }
    const Device device = devices_.at(gpu);
    LinkCounts& links = links_.at(gpu);
    for (unsigned int link = 0; link < LinkCounts::kLinksMax; ++link) {
      unsigned int active = 0;
      if (newer_.link_state(device, link, &active) != kSuccess) {
        continue;
      }
      links.note_state(link, active != 0);
      for (unsigned int counter = 0; active != 0 && counter < LinkCounts::kCounters; ++counter) {
        if (unsigned long long count = 0;
            newer_.link_errors(device, link, counter, &count) == kSuccess) {
          links.note(link, counter, count);
        }
      }
    }
    facts.link_replays = links.sum(LinkCounts::kReplays);
    facts.link_recoveries = links.sum(LinkCounts::kRecoveries);
    facts.link_crc_errors = links.sum(LinkCounts::kCrcFlits);
    if (const auto payloads = links.sum(LinkCounts::kCrcPayloads)) {
      facts.link_crc_errors = facts.link_crc_errors.value_or(0) + *payloads;
    }
    facts.link_downs = links.downs();
  }

  using ProcessList = int(Device, unsigned int*, Process*);

  static std::optional<std::set<unsigned int>> pids_of(ProcessList* list, Device device) {
    std::array<Process, kProcessesMax> rows;
    unsigned int count = kProcessesMax;
    const int answer = list == nullptr ? -1 : list(device, &count, rows.data());
    if (answer != kSuccess && answer != kMoreThanRoom) {
      return std::nullopt;
    }
    std::set<unsigned int> pids;
    for (unsigned int k = 0; k < std::min<unsigned int>(count, kProcessesMax); ++k) {
      pids.insert(rows[k].pid);
    }
    return pids;
  }

  // A client of MPS may stand in both lists.
  std::optional<std::uint32_t> count_processes(Device device) const {
    auto all = pids_of(newer_.processes, device);
    if (!all.has_value()) {
      return std::nullopt;
    }
    for (const unsigned int pid :
         pids_of(newer_.mps_processes, device).value_or(std::set<unsigned>{})) {
      all->erase(pid);
    }
    return static_cast<std::uint32_t>(all->size());
  }

  // Asked for once: a GPU that is lost does not tell it any more, and is to be found all the same.
  std::string uuid_of(Device device, unsigned int index) const {
    std::array<char, kUuidBytes> text{};
    const bool told = uuid_(device, text.data(), text.size() - 1) == kSuccess;
    return told ? text.data() : std::to_string(index);
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
        uuids_.push_back(uuid_of(device, index));
        links_.emplace_back();
      }
    }
    return {};
  }

  void* library_ = nullptr;
  bool started_ = false;
  std::vector<Device> devices_;
  std::vector<std::string> uuids_;  // Of the same order.
  std::vector<LinkCounts> links_;   // Likewise.
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

  // Functions that a driver may lack; nullptr then.
  struct Newer {
    int (*ecc)(Device, int, int, unsigned long long*) = nullptr;
    int (*link_state)(Device, unsigned int, unsigned int*) = nullptr;
    int (*link_errors)(Device, unsigned int, unsigned int, unsigned long long*) = nullptr;
    int (*throttle)(Device, unsigned long long*) = nullptr;
    ProcessList* processes = nullptr;
    ProcessList* mps_processes = nullptr;
    int (*create_events)(EventSet*) = nullptr;
    int (*free_events)(EventSet) = nullptr;
    int (*register_events)(Device, unsigned long long, EventSet) = nullptr;
    int (*wait_events)(EventSet, Event*, unsigned int) = nullptr;
  } newer_;

  EventSet events_ = nullptr;
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

GpuFacts Nvml::read(std::size_t gpu) {
  return impl_->read(gpu);
}

std::vector<std::pair<std::size_t, std::uint32_t>> Nvml::take_xids() {
  return impl_->take_xids();
}

std::string gpu_uuid_text(const std::array<std::uint8_t, 16>& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t k = 0; k < uuid.size(); ++k) {
    if (k == 4 || k == 6 || k == 8 || k == 10) {
      text += '-';
    }
    text += {kDigits[uuid[k] >> 4], kDigits[uuid[k] & 15]};
  }
  return text;
}

GpuSource nvml_source(std::string library) {
  using Xids = std::map<std::uint32_t, std::uint64_t>;
  return [library = std::move(library),
          nvml = std::shared_ptr<Nvml>(),
          xids = std::vector<Xids>()]() mutable -> Result<std::vector<GpuReading>> {
    if (nvml == nullptr) {
      GCOORD_TRY(nvml, Nvml::open(library));
      xids.resize(nvml->count());
    }
    for (const auto& [gpu, number] : nvml->take_xids()) {
      ++xids[gpu][number];
    }
    std::vector<GpuReading> gpus;
    for (std::size_t gpu = 0; gpu < nvml->count(); ++gpu) {
      gpus.push_back({nvml->uuid(gpu), nvml->read(gpu), xids[gpu]});
    }
    return gpus;
  };
}

}  // namespace gcoord::server

#include "bench/ticket/ticket_run.h"

#include "bench/report/results_file.h"
#include "netcore/device/gpu_device.h"
#include "netcore/ticket/gpu_lock.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace gcoord::bench {
namespace {

using netcore::GpuTicketLock;
using netcore::GpuTicketLockOptions;
using netcore::MemoryKind;
using netcore::MemoryRange;
using netcore::MemoryRegistry;
using netcore::TicketGuarded;
using netcore::TicketProbeJob;
using netcore::TicketProbeJobOptions;
using netcore::TicketProbeResult;
using netcore::TicketSample;
using netcore::TicketVerdict;

// Any run is far shorter; a run that meets it has failed.
constexpr std::uint64_t kTimeoutNs = 20'000'000'000;
constexpr std::uint32_t kSamples = 1u << 16;

// One device's side of the lock, of what it protects, and of the measurement.
struct Side {
  Side(std::uint32_t number, std::unique_ptr<netcore::MemorySource> memory)
      : device(number), registry(std::move(memory)) {}

  std::uint32_t device;
  MemoryRegistry registry;
  std::unique_ptr<GpuTicketLock> lock;
  MemoryRange guarded;
  MemoryRange samples;
  std::unique_ptr<TicketProbeJob> job;
};

template <typename T>
Result<std::vector<T>> read_all(Side& side, const MemoryRange& range, std::size_t count) {
  std::vector<T> values(count);
  GCOORD_TRY_STATUS(
      side.registry.source().read(std::as_writable_bytes(std::span<T>{values}), range.address));
  return values;
}

// `home` is null for the first.
Result<std::unique_ptr<Side>> make_side(std::uint32_t device,
                                        const GpuTicketLockOptions& options,
                                        const Side* home) {
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(device));
  auto side = std::make_unique<Side>(device, std::move(memory));
  if (home == nullptr) {
    GCOORD_TRY(side->lock, GpuTicketLock::create(side->registry, options));
    GCOORD_TRY(side->guarded, side->registry.allocate(MemoryKind::Shared, sizeof(TicketGuarded)));
  } else {
    GCOORD_TRY_STATUS(netcore::gpu_atomics_reach(device, home->device));
    GCOORD_TRY(side->lock, GpuTicketLock::import(side->registry, home->lock->region().fd, options));
    GCOORD_TRY(side->guarded, side->registry.import(home->guarded.fd, sizeof(TicketGuarded)));
  }
  GCOORD_TRY(side->samples,
             side->registry.allocate(MemoryKind::Private, kSamples * sizeof(TicketSample)));
  return side;
}

Status start(Side& side, std::uint32_t number, const TicketSetup& setup) {
  TicketProbeJobOptions options;
  options.device = side.device;
  options.scope = setup.scope;
  options.work.lock = side.lock->device();
  options.work.guarded = reinterpret_cast<TicketGuarded*>(side.guarded.address);
  options.work.probe.takes = setup.takes;
  options.work.probe.timeout_ns = kTimeoutNs;
  options.work.group_count = setup.warps;
  options.work.side = number;
  options.work.samples = reinterpret_cast<TicketSample*>(side.samples.address);
  options.work.sample_count = kSamples;
  GCOORD_TRY(side.job, TicketProbeJob::start(options));
  return {};
}

struct Samples {
  std::vector<std::uint32_t> within;
  std::vector<std::uint32_t> over_devices;
  double rate = 0;  // Hand-overs per second, of the side that measured longest.
};

// Waits for one side and adds what it measured.
Status finish(Side& side, const TicketSetup& setup, Samples& samples) {
  GCOORD_TRY(const std::vector<TicketProbeResult> results, side.job->finish());
  std::uint64_t began_ns = ~std::uint64_t{0};
  std::uint64_t ended_ns = 0;
  for (const TicketProbeResult& result : results) {
    if (result.verdict != TicketVerdict::Released || result.held != setup.takes ||
        result.wrong != 0) {
      return {StatusCode::DataLoss,
              "a warp held the lock " + std::to_string(result.held) + " of " +
                  std::to_string(setup.takes) + " times, " + std::to_string(result.wrong) +
                  " times wrongly; verdict " +
                  std::to_string(static_cast<unsigned>(result.verdict))};
    }
    began_ns = std::min(began_ns, result.began_ns);
    ended_ns = std::max(ended_ns, result.ended_ns);
  }
  const double seconds = static_cast<double>(ended_ns - began_ns) * 1e-9;
  const auto holds = static_cast<double>(setup.takes * setup.warps * setup.devices.size());
  samples.rate = samples.rate == 0 ? holds / seconds : std::min(samples.rate, holds / seconds);
  GCOORD_TRY(const auto measured, read_all<TicketSample>(side, side.samples, kSamples));
  for (const TicketSample& sample : measured) {
    if (sample.nanoseconds != 0) {
      (sample.is_over_devices != 0 ? samples.over_devices : samples.within)
          .push_back(sample.nanoseconds);
    }
  }
  return {};
}

}  // namespace

Result<Json> measure_tickets(const TicketSetup& setup) {
  const auto groups = static_cast<std::uint32_t>(setup.warps * setup.devices.size());
  GpuTicketLockOptions options;
  options.layout = {groups, std::bit_ceil(2 * groups)};
  std::vector<std::unique_ptr<Side>> sides;
  for (const std::uint32_t device : setup.devices) {
    GCOORD_TRY(auto side,
               make_side(device, options, sides.empty() ? nullptr : sides.front().get()));
    sides.push_back(std::move(side));
  }
  for (std::uint32_t number = 0; number < sides.size(); ++number) {
    GCOORD_TRY_STATUS(start(*sides[number], number, setup));
  }
  Samples samples;
  for (const auto& side : sides) {
    GCOORD_TRY_STATUS(finish(*side, setup, samples));
  }
  GCOORD_TRY(const auto guarded,
             read_all<TicketGuarded>(*sides.front(), sides.front()->guarded, 1));
  const std::uint64_t holds = groups * setup.takes;
  if (guarded.front().holds[0] != holds || guarded.front().holds[31] != holds) {
    return Status{StatusCode::DataLoss,
                  std::to_string(guarded.front().holds[0]) + " of " + std::to_string(holds) +
                      " additions under the lock are there"};
  }
  return Json{{"warps", groups},
              {"scope", setup.scope == netcore::TicketScope::System ? "system" : "device"},
              {"hand_overs", holds},
              {"hand_overs_per_s", rounded(samples.rate)},
              {"mean_ns", rounded(1e9 / samples.rate)},
              {"within_device", percentiles(std::move(samples.within))},
              {"over_devices", percentiles(std::move(samples.over_devices))}};
}

}  // namespace gcoord::bench

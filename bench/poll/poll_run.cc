#include "bench/poll/poll_run.h"

#include "bench/report/results_file.h"
#include "netcore/device/gpu_device.h"
#include "netcore/gpu_channel/events.h"
#include "netcore/gpu_channel/gpu_channel.h"
#include "netcore/poll/gpu_poll.h"
#include "netcore/probe/channel_probe_job.h"
#include "netcore/probe/poll_probe_job.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::bench {
namespace {

using netcore::GpuChannel;
using netcore::GpuEvents;
using netcore::GpuPoll;
using netcore::MemoryRegistry;
using netcore::PollProbeJob;
using netcore::PollProbeKind;
using netcore::PollProbeResult;
using netcore::PollProbeWork;
using netcore::WaitStatus;

// Any run is far shorter; a run that meets it has failed.
constexpr std::uint64_t kTimeoutNs = 20'000'000'000;
// A wake-up that takes so long has failed.
constexpr int kWakeTimeoutMs = 10'000;
constexpr std::uint32_t kWarpsPerBlock = 8;  // Of senders: 1,024 of them run beside the waiter.

// One end of the lanes, and a set that waits for them.
struct Side {
  Side(std::uint32_t number, std::unique_ptr<netcore::MemorySource> memory)
      : device(number), registry(std::move(memory)) {}

  std::uint32_t device;
  MemoryRegistry registry;
  std::unique_ptr<GpuChannel> channel;
  std::unique_ptr<GpuPoll> poll;
};

Result<std::unique_ptr<Side>> make_side(std::uint32_t device, std::uint32_t entries) {
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(device));
  auto side = std::make_unique<Side>(device, std::move(memory));
  netcore::GpuPollOptions options;
  options.entries = entries;
  GCOORD_TRY(side->poll, GpuPoll::create(side->registry, options));
  return side;
}

Status attach(Side& to, const Side& from) {
  if (to.device == from.device) {  // One address for one place, as within any device.
    to.channel->attach(from.channel->region(), false);
    return {};
  }
  GCOORD_TRY(const netcore::MemoryRange region,
             to.registry.import(from.channel->region().fd,
                                netcore::region_bytes(from.channel->options().layout)));
  to.channel->attach(region, true);
  return {};
}

struct Lanes {
  std::unique_ptr<Side> sender;
  std::unique_ptr<Side> waiter;
};

Result<Lanes> make_lanes(const PollSetup& setup) {
  Lanes lanes;
  GCOORD_TRY(lanes.sender, make_side(setup.devices.front(), setup.lanes));
  GCOORD_TRY(lanes.waiter, make_side(setup.devices.back(), setup.lanes));
  netcore::GpuChannelOptions options;
  options.layout.band[1] = {setup.lanes, 256, 0};
  options.epoch = 1;
  for (Side* side : {lanes.sender.get(), lanes.waiter.get()}) {
    GCOORD_TRY(side->channel, GpuChannel::create(side->registry, options));
  }
  GCOORD_TRY_STATUS(attach(*lanes.sender, *lanes.waiter));
  GCOORD_TRY_STATUS(attach(*lanes.waiter, *lanes.sender));
  return lanes;
}

PollProbeWork work_of(const Side& side, const PollSetup& setup) {
  PollProbeWork work;
  work.set = side.poll->device();
  work.channel = side.channel->device();
  work.lane_count = setup.lanes;
  work.probe.slot_count = setup.slots;
  work.probe.timeout_ns = kTimeoutNs;
  work.probe.seed = 17;
  return work;
}

Result<std::unique_ptr<PollProbeJob>> start(std::uint32_t device,
                                            PollProbeKind kind,
                                            const PollProbeWork& work) {
  netcore::PollProbeJobOptions options;
  options.device = device;
  options.kind = kind;
  options.work = work;
  return PollProbeJob::start(options);
}

// What a job met, if it met all that it was to.
Result<PollProbeResult> finish(PollProbeJob& job, std::uint64_t wanted) {
  GCOORD_TRY(const PollProbeResult result, job.finish());
  if (result.status != WaitStatus::Ready || result.slots != wanted || result.wrong_words != 0 ||
      result.empty != 0) {
    return Status{StatusCode::DataLoss,
                  std::to_string(result.slots) + " of " + std::to_string(wanted) + " came, " +
                      std::to_string(result.wrong_words) + " words were wrong, " +
                      std::to_string(result.empty) + " times nothing was there; status " +
                      std::to_string(static_cast<unsigned>(result.status))};
  }
  return result;
}

}  // namespace

Result<Json> measure_poll_echo(const PollSetup& setup) {
  GCOORD_TRY(const Lanes lanes, make_lanes(setup));
  GCOORD_TRY(const auto echo,
             start(lanes.waiter->device, PollProbeKind::Echo, work_of(*lanes.waiter, setup)));
  GCOORD_TRY(const auto ping,
             start(lanes.sender->device, PollProbeKind::Ping, work_of(*lanes.sender, setup)));
  GCOORD_TRY(const PollProbeResult sent, finish(*ping, setup.slots));
  GCOORD_TRY(const PollProbeResult echoed, finish(*echo, setup.slots));
  static_cast<void>(sent);
  return Json{{"lanes", setup.lanes},
              {"waits", echoed.waits},
              {"round_trip", percentiles(ping->round_trips())}};
}

Result<Json> measure_poll_rate(const PollSetup& setup) {
  GCOORD_TRY(const Lanes lanes, make_lanes(setup));
  const PollProbeWork work = work_of(*lanes.waiter, setup);
  GCOORD_TRY(const auto waiter, start(lanes.waiter->device, PollProbeKind::Receive, work));
  netcore::ProbeJobOptions sending;
  sending.device = lanes.sender->device;
  sending.kind = netcore::ProbeKind::Send;
  sending.channel = lanes.sender->channel->device();
  sending.probe = work.probe;
  sending.lane_count = setup.lanes;
  sending.warps_per_block = std::min(setup.lanes, kWarpsPerBlock);
  GCOORD_TRY(const auto sender, netcore::ProbeJob::start(sending));
  GCOORD_TRY(const PollProbeResult received, finish(*waiter, setup.slots * setup.lanes));
  GCOORD_TRY(const auto sent, sender->finish());
  static_cast<void>(sent);
  const double seconds = static_cast<double>(received.ended_ns - received.began_ns) * 1e-9;
  const auto slots = static_cast<double>(received.slots);
  return Json{
      {"lanes", setup.lanes},
      {"slots", received.slots},
      {"slots_per_s", rounded(slots / seconds)},
      {"events_per_s", rounded(static_cast<double>(received.events) / seconds)},
      {"slots_per_event", rounded(slots / static_cast<double>(received.events))},
      {"events_per_wait",
       rounded(static_cast<double>(received.events) / static_cast<double>(received.waits))}};
}

Result<Json> measure_wake(const WakeSetup& setup) {
  GCOORD_TRY(const auto side, make_side(setup.device, setup.words));
  netcore::GpuEventsOptions options;
  options.words = setup.words;
  options.word_kind = setup.kind;
  GCOORD_TRY(const auto events, GpuEvents::create(side->registry, options));
  GCOORD_TRY(const int fd, events->event_fd());
  PollProbeWork work;
  work.set = side->poll->device();
  work.probe.slot_count = setup.raises;
  work.probe.timeout_ns = kTimeoutNs;
  work.word_count = setup.words;
  work.words = events->word(0);
  work.bell = events->bell(0);
  GCOORD_TRY(
      const auto kernel,
      start(setup.device, setup.alone ? PollProbeKind::WakeAlone : PollProbeKind::Wake, work));
  std::vector<std::uint32_t> round_trips;
  for (std::uint32_t raise = 0; raise < setup.raises; ++raise) {
    const auto began = std::chrono::steady_clock::now();
    GCOORD_TRY_STATUS(events->raise(raise % setup.words));
    pollfd waited{fd, POLLIN, 0};
    if (::poll(&waited, 1, kWakeTimeoutMs) != 1 || !events->take().has_value()) {
      return Status{StatusCode::DeadlineExceeded,
                    "raise " + std::to_string(raise) + " had no answer"};
    }
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
    round_trips.push_back(static_cast<std::uint32_t>(took.count()));
  }
  GCOORD_TRY(const PollProbeResult result, finish(*kernel, setup.raises));
  static_cast<void>(result);
  return Json{{"words", setup.words},
              {"waits", setup.alone ? "one thread" : "a warp"},
              {"words_in", std::string(netcore::memory_kind_name(setup.kind))},
              {"round_trip", percentiles(std::move(round_trips))}};
}

}  // namespace gcoord::bench

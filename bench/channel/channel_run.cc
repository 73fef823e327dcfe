#include "bench/channel/channel_run.h"

#include "bench/report/results_file.h"

#include <algorithm>

namespace gcoord::bench {
namespace {

using netcore::ProbeKind;
using netcore::ProbeOptions;

// Any run is far shorter; a run that meets it has failed.
constexpr std::uint64_t kTimeoutNs = 5'000'000'000;

bool complete(const chaos::ProbeSummary& summary, std::uint64_t slots) {
  return summary.slots == slots && summary.wrong_words == 0;
}

}  // namespace

Result<Json> measure_stream(ChannelEndpoints& ends, const ChannelSetup& setup) {
  GCOORD_TRY_STATUS(ends.open(setup));
  ProbeOptions probe;
  probe.slot_count = setup.slots_per_lane;
  probe.payload_bytes = setup.payload_bytes;
  probe.batch_slots = setup.batch_slots;
  probe.seed = 17;
  probe.timeout_ns = kTimeoutNs;
  GCOORD_TRY_STATUS(ends.run(ProbeKind::Send, probe, setup));
  const chaos::ProbeSummary& received = ends.far_summary();
  const std::uint64_t slots = setup.slots_per_lane * setup.lanes;
  if (!complete(received, slots)) {
    return Status{StatusCode::DataLoss,
                  ends.name() + ": " + std::to_string(received.slots) + " of " +
                      std::to_string(slots) + " slots arrived, " +
                      std::to_string(received.wrong_words) + " words were wrong"};
  }
  const double seconds = static_cast<double>(received.ended_ns - received.began_ns) * 1e-9;
  const double rate = static_cast<double>(slots) / seconds;
  const double bytes = rate * (64.0 + setup.payload_bytes);
  return Json{{"lanes", setup.lanes},
              {"ring_slots", setup.ring_slots},
              {"batch_slots", setup.batch_slots},
              {"payload_bytes", setup.payload_bytes},
              {"slots", slots},
              {"seconds", seconds},
              {"slots_per_s", rounded(rate)},
              {"payload_gb_per_s", rounded(rate * setup.payload_bytes * 1e-9)},
              {"gb_per_s", rounded(bytes * 1e-9)}};
}

Result<Json> measure_echo(ChannelEndpoints& ends, std::uint32_t count) {
  ChannelSetup setup;
  setup.warps_per_block = 1;
  GCOORD_TRY_STATUS(ends.open(setup));
  ProbeOptions probe;
  probe.slot_count = count;
  probe.seed = 23;
  probe.timeout_ns = kTimeoutNs;
  GCOORD_TRY_STATUS(ends.run(ProbeKind::Ping, probe, setup));
  const chaos::ProbeSummary& pinged = ends.near_summary();
  std::vector<std::uint32_t> sorted = ends.round_trips();
  if (!complete(pinged, count) || sorted.size() != count) {
    return Status{StatusCode::DataLoss,
                  ends.name() + ": " + std::to_string(pinged.slots) + " echoes came, " +
                      std::to_string(pinged.wrong_words) + " words were wrong"};
  }
  std::sort(sorted.begin(), sorted.end());
  const double mean = static_cast<double>(pinged.ended_ns - pinged.began_ns) / count;
  return Json{{"round_trips", count},
              {"mean_ns", rounded(mean)},
              {"p50_ns", percentile(sorted, 0.50)},
              {"p99_ns", percentile(sorted, 0.99)},
              {"p999_ns", percentile(sorted, 0.999)},
              {"max_ns", sorted.back()}};
}

}  // namespace gcoord::bench

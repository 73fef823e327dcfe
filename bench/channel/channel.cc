#include "bench/channel/channel.h"

#include "bench/channel/channel_run.h"
#include "bench/cluster/device_list.h"
#include "bench/report/results_file.h"
#include "netcore/device/gpu_device.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

constexpr std::uint32_t kPayloadBytes = 4096;
constexpr std::uint32_t kEchoes = 20'000;

// One lane shows what a warp can do; then as many as fill the multiprocessors of an H200 one, two,
// four and eight times. Rings are sized so that all lanes together stay within its L2.
std::vector<ChannelSetup> slot_setups() {
  std::vector<ChannelSetup> setups;
  for (const std::uint32_t per_processor : {0u, 1u, 2u, 4u, 8u}) {
    ChannelSetup setup;
    setup.lanes = per_processor == 0 ? 1 : per_processor * 132;
    setup.warps_per_block = std::max(per_processor, 1u);
    setup.ring_slots = per_processor >= 4 ? 256 : 512;
    setup.slots_per_lane = per_processor == 0 ? 1u << 20 : (1u << 21) / per_processor;
    setups.push_back(setup);
  }
  return setups;
}

// Fewer lanes publish more payloads with each fence: what is under way is then enough for a link.
std::vector<ChannelSetup> payload_setups() {
  std::vector<ChannelSetup> setups = slot_setups();
  for (ChannelSetup& setup : setups) {
    const std::uint32_t per_processor = setup.lanes / 132;
    setup.payload_bytes = kPayloadBytes;
    setup.ring_slots = 64;
    setup.ring_payload_bytes = per_processor >= 4 ? 1u << 16 : 1u << 18;
    setup.slots_per_lane = per_processor == 0 ? 1u << 14 : (1u << 16) / per_processor;
    setup.batch_slots = per_processor >= 4 ? 4 : 8;
  }
  return setups;
}

// Every setup `runs` times; the row is the run with the median rate, with all rates beside it.
Result<Json> stream_rows(ChannelEndpoints& ends,
                         const std::vector<ChannelSetup>& setups,
                         std::uint32_t runs) {
  Json rows = Json::array();
  for (const ChannelSetup& setup : setups) {
    std::vector<Json> measured;
    std::vector<double> rates;
    for (std::uint32_t run = 0; run < runs; ++run) {
      GCOORD_TRY(Json row, measure_stream(ends, setup));
      rates.push_back(number_of(row["slots_per_s"]).value());
      measured.push_back(std::move(row));
    }
    Json row = measured.front();
    row["slots_per_s"] = rounded(median(rates));
    row["gb_per_s"] = rounded(median(rates) * (64.0 + setup.payload_bytes) * 1e-9);
    row["payload_gb_per_s"] = rounded(median(rates) * setup.payload_bytes * 1e-9);
    row["slots_per_s_of_each_run"] = rates;
    std::fprintf(stderr,
                 "  %s: %u lanes, %u + 64 bytes: %.1f M slots/s, %.1f GB/s\n",
                 ends.name().c_str(),
                 setup.lanes,
                 setup.payload_bytes,
                 median(rates) / 1e6,
                 number_of(row["gb_per_s"]).value());
    rows.push_back(std::move(row));
  }
  return rows;
}

// A host thread works one lane; more would measure the host's cores.
std::vector<ChannelSetup> lanes_for(std::vector<ChannelSetup> setups, bool by_host) {
  setups.resize(by_host ? 1 : setups.size());
  return setups;
}

Status measure_into(Json& link, ChannelEndpoints& ends, bool by_host, std::uint32_t runs) {
  GCOORD_TRY(link["round_trip"], measure_echo(ends, kEchoes));
  std::fprintf(stderr,
               "  %s: round trip p50 %u ns, p99 %u ns\n",
               ends.name().c_str(),
               static_cast<unsigned>(unsigned_of(link["round_trip"]["p50_ns"]).value()),
               static_cast<unsigned>(unsigned_of(link["round_trip"]["p99_ns"]).value()));
  GCOORD_TRY(link["slots"], stream_rows(ends, lanes_for(slot_setups(), by_host), runs));
  GCOORD_TRY(link["payloads"], stream_rows(ends, lanes_for(payload_setups(), by_host), runs));
  return {};
}

// What was measured before a failure stays, with the failure beside it: a device's time is dear.
Json measure_link(ChannelEndpoints& ends, bool by_host, std::uint32_t runs) {
  Json link = {{"link", ends.name()}};
  const Status measured = measure_into(link, ends, by_host, runs);
  if (!measured.ok()) {
    link["failed"] = measured.to_string();
    std::fprintf(stderr, "  %s\n", measured.to_string().c_str());
  }
  return link;
}

}  // namespace

BenchResult bench_channel(const BenchOptions& options) {
  GCOORD_TRY(const std::vector<std::uint32_t> devices, listed_devices(options.device));
  Json result = {
      {"semantics", "transport only: nothing persisted or replicated; a slot counts once read"},
      {"content", "words computed from (seed, lane, cursor), each recomputed by the receiver"},
      {"clock", "the receiver's %globaltimer, first slot to last; medians over runs"},
      {"runs", options.runs}};
  for (const std::uint32_t device : devices) {
    GCOORD_TRY(const netcore::GpuFacts facts, netcore::gpu_facts(device));
    result["devices"].push_back(facts.name);
  }
  std::vector<Result<std::unique_ptr<ChannelEndpoints>>> links;
  if (devices.size() > 1) {
    links.push_back(make_nvlink_ends(devices[0], devices[1]));
  }
  links.push_back(make_loopback_ends(devices[0]));
  links.push_back(make_pinned_ends(devices[0]));
  links.push_back(make_proxy_ends(devices[0]));
  for (std::size_t i = 0; i < links.size(); ++i) {
    GCOORD_TRY_STATUS(links[i].ok() ? Status{} : links[i].status());
    const bool by_host = i + 2 >= links.size();  // The last two are worked by a host thread.
    result["links"].push_back(measure_link(*links[i].value(), by_host, options.runs));
  }
  return result;
}

}  // namespace gcoord::bench

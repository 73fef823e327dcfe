#include "bench/poll/poll.h"

#include "bench/cluster/device_list.h"
#include "bench/poll/poll_run.h"
#include "bench/report/results_file.h"
#include "netcore/device/gpu_device.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

constexpr std::uint32_t kLanes[] = {1, 32, 1024};
constexpr std::uint64_t kEchoes = 20'000;
// Of all lanes together, in each run: a tenth of a second or so of one warp.
constexpr std::uint64_t kSlots = 1u << 21;
constexpr std::uint32_t kRaises = 2'000;

using Measure = std::function<Result<Json>()>;
using Figure = double (*)(const Json& row);

double median_ns_of(const Json& row) {
  return number_of(row["round_trip"]["p50_ns"]).value();
}

double rate_of(const Json& row) {
  return number_of(row["slots_per_s"]).value();
}

// The run with the median of a figure, with all of them beside it. A failure stands in its place,
// and what was measured before stays.
Json measure_row(const Measure& measure, Figure figure, std::uint32_t runs) {
  std::vector<Json> measured;
  std::vector<double> figures;
  for (std::uint32_t run = 0; run < runs; ++run) {
    auto row = measure();
    if (!row.ok()) {
      std::fprintf(stderr, "  %s\n", row.status().to_string().c_str());
      return {{"failed", row.status().to_string()}};
    }
    figures.push_back(figure(row.value()));
    measured.push_back(std::move(row).value());
  }
  std::vector<double> sorted = figures;
  std::sort(sorted.begin(), sorted.end());
  const double wanted = sorted[(sorted.size() - 1) / 2];
  Json row = measured.front();
  for (const Json& one : measured) {
    row = figure(one) == wanted ? one : row;
  }
  row["of_each_run"] = figures;
  std::fprintf(stderr, "  %s\n", row.dump().c_str());
  return row;
}

Json measure_lanes(const std::string& name,
                   const std::vector<std::uint32_t>& devices,
                   std::uint32_t runs) {
  std::fprintf(stderr, "%s\n", name.c_str());
  Json place = {{"place", name}};
  for (const std::uint32_t lanes : kLanes) {
    PollSetup setup;
    setup.devices = devices;
    setup.lanes = lanes;
    setup.slots = kEchoes;
    place["echo"].push_back(
        measure_row([&] { return measure_poll_echo(setup); }, median_ns_of, runs));
    setup.slots = kSlots / lanes;
    place["rate"].push_back(measure_row([&] { return measure_poll_rate(setup); }, rate_of, runs));
  }
  return place;
}

Json measure_wakes(std::uint32_t device, std::uint32_t runs) {
  std::fprintf(stderr, "a host thread and a kernel on cuda:%u\n", device);
  Json rows = Json::array();
  for (const netcore::MemoryKind kind :
       {netcore::MemoryKind::Private, netcore::MemoryKind::Pinned}) {
    for (const bool alone : {false, true}) {
      for (const std::uint32_t words : {1u, 32u}) {
        WakeSetup setup;
        setup.device = device;
        setup.words = words;
        setup.raises = kRaises;
        setup.alone = alone;
        setup.kind = kind;
        rows.push_back(measure_row([&] { return measure_wake(setup); }, median_ns_of, runs));
      }
    }
  }
  return rows;
}

}  // namespace

BenchResult bench_poll(const BenchOptions& options) {
  GCOORD_TRY(const std::vector<std::uint32_t> devices, listed_devices(options.device));
  Json result = {
      {"semantics",
       "one warp waits for all lanes; every word is checked; echo: lanes drawn by lot, a slot at a "
       "time, there and back; rate: a warp streams on each lane"},
      {"clock", "%globaltimer of the sender; wake: the host's"},
      {"runs", options.runs}};
  for (const std::uint32_t device : devices) {
    GCOORD_TRY(const netcore::GpuFacts facts, netcore::gpu_facts(device));
    result["devices"].push_back(facts.name);
  }
  const std::string home = "cuda:" + std::to_string(devices[0]);
  result["places"].push_back(measure_lanes("within " + home, {devices[0]}, options.runs));
  if (devices.size() > 1) {
    GCOORD_TRY_STATUS(netcore::gpu_reaches(devices[0], devices[1]));
    result["places"].push_back(
        measure_lanes(home + " to cuda:" + std::to_string(devices[1]), devices, options.runs));
  }
  result["wake"] = measure_wakes(devices[0], options.runs);
  return result;
}

}  // namespace gcoord::bench

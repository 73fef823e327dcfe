#include "bench/ticket/ticket.h"

#include "bench/cluster/device_list.h"
#include "bench/report/results_file.h"
#include "bench/ticket/ticket_run.h"
#include "netcore/device/gpu_device.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

// Of all warps together, in each run: a tenth of a second or so.
constexpr std::uint64_t kHandOvers = 100'000;

// Alone, then two, up to four warps on each multiprocessor of an H200.
constexpr std::uint32_t kWarps[] = {1, 2, 4, 8, 32, 132, 528};

// The run with the median rate, with all rates beside it.
Result<Json> measure_row(const TicketSetup& setup, std::uint32_t runs) {
  std::vector<Json> measured;
  std::vector<double> rates;
  for (std::uint32_t run = 0; run < runs; ++run) {
    GCOORD_TRY(Json row, measure_tickets(setup));
    rates.push_back(number_of(row["hand_overs_per_s"]).value());
    measured.push_back(std::move(row));
  }
  const double wanted = median(rates);
  Json row = measured.front();
  for (const Json& one : measured) {
    row = number_of(one["hand_overs_per_s"]).value() == wanted ? one : row;
  }
  row["hand_overs_per_s_of_each_run"] = rates;
  std::fprintf(stderr,
               "  %u warps, %s scope: %.0f hand-overs/s, mean %.0f ns\n",
               static_cast<unsigned>(unsigned_of(row["warps"]).value()),
               row["scope"].text().c_str(),
               number_of(row["hand_overs_per_s"]).value(),
               number_of(row["mean_ns"]).value());
  return row;
}

// What was measured before a failure stays, with the failure beside it.
Json measure_place(const std::string& name,
                   const std::vector<std::uint32_t>& devices,
                   netcore::TicketScope scope,
                   std::uint32_t runs) {
  Json place = {{"place", name}, {"rows", Json::array()}};
  std::fprintf(stderr, "%s\n", name.c_str());
  for (const std::uint32_t warps : kWarps) {
    TicketSetup setup;
    setup.devices = devices;
    setup.warps = warps;
    setup.takes = kHandOvers / (warps * devices.size());
    setup.scope = scope;
    auto row = measure_row(setup, runs);
    if (!row.ok()) {
      place["failed"] = row.status().to_string();
      std::fprintf(stderr, "  %s\n", row.status().to_string().c_str());
      break;
    }
    place["rows"].push_back(std::move(row).value());
  }
  return place;
}

}  // namespace

BenchResult bench_ticket(const BenchOptions& options) {
  GCOORD_TRY(const std::vector<std::uint32_t> devices, listed_devices(options.device));
  Json result = {
      {"semantics", "a lock in one device's memory; each hold adds to words it protects"},
      {"clock",
       "%globaltimer, grant to grant; over devices: half of a round trip; medians over runs"},
      {"runs", options.runs}};
  for (const std::uint32_t device : devices) {
    GCOORD_TRY(const netcore::GpuFacts facts, netcore::gpu_facts(device));
    result["devices"].push_back(facts.name);
  }
  const std::string home = "cuda:" + std::to_string(devices[0]);
  result["places"].push_back(
      measure_place(home + " alone", {devices[0]}, netcore::TicketScope::Device, options.runs));
  result["places"].push_back(measure_place(
      home + ", lock open to others", {devices[0]}, netcore::TicketScope::System, options.runs));
  if (devices.size() > 1) {
    const std::string both = home + " and cuda:" + std::to_string(devices[1]) + ", lock on " + home;
    result["places"].push_back(
        measure_place(both, devices, netcore::TicketScope::System, options.runs));
  }
  return result;
}

}  // namespace gcoord::bench

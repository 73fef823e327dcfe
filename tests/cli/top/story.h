// A cluster of three nodes over 70 samples, always the same: for tests of top's model and views.
#pragma once

#include "cli/top/samples/model.h"

#include <cstdint>
#include <sstream>
#include <string>

namespace gcoord::cli::top {

inline constexpr std::uint64_t kStorySamples = 70;
inline constexpr std::uint64_t kStoryIntervalMs = 2000;

// One node at one sample; counters grow faster and slower in turn.
inline NodeReading told(std::uint32_t node, std::uint64_t sample) {
  std::uint64_t requests = 0;
  for (std::uint64_t k = 0; k <= sample; ++k) {
    requests += (1000 + 100 * (k % 10)) * node;
  }
  NodeReading reading{.node = node,
                      .endpoint = "10.0.0." + std::to_string(node) + ":7400",
                      .at_ms = sample * kStoryIntervalMs};
  reading.report = {{"incarnation", 3},
                    {"leaders", 21 + node},
                    {"locks", 1000 * node},
                    {"waiters", 7 * node},
                    {"sessions", 100 * node},
                    {"connections", 10 * node},
                    {"ledger",
                     {{"hashed", std::to_string(requests / 2)},
                      {"lag", "0"},
                      {"disk_bytes", std::to_string(std::uint64_t{5} << 20)}}},
                    {"disk", {{"free_bytes", std::to_string(std::uint64_t{40} << 30)}}}};
  std::ostringstream page;
  page << "# TYPE gcoord_server_requests_total counter\n"
       << "gcoord_server_requests_total " << requests << "\n"
       << "gcoord_server_turn_duration_seconds_count " << requests << "\n"
       << "gcoord_server_turn_duration_seconds_sum " << static_cast<double>(requests) * 25e-6
       << "\n"
       << "gcoord_server_turn_duration_seconds_bucket{le=\"3.2e-05\"} " << requests << "\n"
       << "gcoord_server_turn_duration_seconds_bucket{le=\"+Inf\"} " << requests << "\n"
       << "gcoord_netcore_bytes_in_total{peer=\"1\"} " << requests * 100 << "\n"
       << "gcoord_netcore_bytes_in_total{peer=\"2\"} " << requests * 200 << "\n"
       << "process_cpu_seconds_total " << static_cast<double>(sample) * 0.5 << "\n"
       << "process_resident_memory_bytes 157286400\n";
  reading.page = MetricsPage::parse(page.str());
  return reading;
}

inline HotNames::Sample changed(std::uint64_t sample) {
  return {.grants = 900,
          .expiries = sample % 20 == 0 ? 2u : 0u,
          .hottest = {{.name = "jobs/train", .shard = 1, .grants = 400, .waits = 380},
                      {.name = "leaders/scheduler", .shard = 2, .grants = 40 + sample, .waits = 0},
                      {.name = "\u65e5\u672c\u8a9e/\u9375", .shard = 1, .grants = 10, .waits = 2}}};
}

// Node 3 falls silent with the 65th sample.
inline Model story() {
  Model model;
  for (std::uint64_t sample = 0; sample < kStorySamples; ++sample) {
    Sample all{.at_ms = sample * kStoryIntervalMs, .nodes = {}, .names = changed(sample)};
    for (const std::uint32_t node : {1u, 2u, 3u}) {
      all.nodes.push_back(told(node, sample));
    }
    if (sample >= 65) {
      all.nodes.back() = {.node = 3,
                          .endpoint = "10.0.0.3:7400",
                          .error = "UNAVAILABLE: connection refused (GC3002)"};
    }
    model.add(std::move(all));
  }
  model.learn_leaders({1, 1, 2, 2});
  return model;
}

}  // namespace gcoord::cli::top

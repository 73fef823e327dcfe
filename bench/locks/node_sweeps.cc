#include "bench/locks/node_sweeps.h"

#include "bench/locks/filled_clock.h"
#include "bench/report/results_file.h"
#include "server/sessions/renew_prefetch.h"
#include "sessions/deadline_mirror.h"
#include "sessions/sweep.h"
#include "sessions/wait_graph_search.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSessionCounts[] = {1u << 16, 1u << 18, 1u << 20, 8u << 20};
constexpr std::uint32_t kGraphEdges[] = {1u << 10, 1u << 12, 1u << 14, 1u << 16, 1u << 18};
constexpr std::uint32_t kKeepAlives = 65'000;  // Of one message.
constexpr std::uint32_t kCalls = 41;           // The first is not timed.

// The median of many calls, in microseconds; the first failure else.
template <typename Call>
Result<double> median_us(const Call& call) {
  std::vector<double> us;
  for (std::uint32_t k = 0; k < kCalls; ++k) {
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(call(k));
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  us.erase(us.begin());
  return rounded(median(us));
}

Status wrong(const char* what) {
  return {StatusCode::Internal, what};
}

// Looks until nothing is behind any more. How many that were.
Result<std::uint32_t> catch_up(sessions::DeadlineMirror& mirror, sessions::SessionClock& clock) {
  for (std::uint32_t looks = 1;; ++looks) {
    GCOORD_TRY(const auto look, mirror.look(clock, Tick{1}));
    if (look.has_value()) {
      return looks;
    }
  }
}

// A look at tick 1, when so many slices were lowered before it.
Result<double> look_us(sessions::DeadlineMirror& mirror,
                       sessions::SessionClock& clock,
                       std::uint32_t lowered) {
  return median_us([&](std::uint32_t k) {
    for (std::uint32_t slice = 0; slice < lowered; ++slice) {
      clock.lowered().add((slice * 2 + k % 2) * sessions::kSliceRows % clock.row_end());
    }
    GCOORD_TRY(const auto look, mirror.look(clock, Tick{1}));
    return look.has_value() ? Status{} : wrong("a look was behind");
  });
}

// All deadlines, by the host alone.
Result<double> host_us(sessions::SessionClock& clock) {
  std::vector<sessions::ExpiryProposal> due(1024);
  return median_us([&](std::uint32_t) {
    clock.on_columns_changed();
    return clock.collect_due(Tick{1}, due) == 0 ? Status{} : wrong("somebody was due");
  });
}

// One row in a thousand is due: named by a look, taken by the clock.
Result<double> collect_us(sessions::DeadlineMirror& mirror, sessions::SessionClock& clock) {
  const sessions::SessionColumns columns = clock.columns();
  for (std::uint32_t row = 1; row < columns.row_end; row += 1000) {
    columns.deadline[row] = Tick{1};
  }
  clock.on_columns_changed();
  GCOORD_TRY_STATUS(catch_up(mirror, clock).status());
  std::vector<sessions::ExpiryProposal> due(columns.row_end / 1000 + 1);
  const auto began = Clock::now();
  GCOORD_TRY(const auto look, mirror.look(clock, Tick{1}));
  const std::size_t count = look.has_value() ? clock.collect_among(*look, Tick{1}, due) : 0;
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
  if (count != (columns.row_end - 2) / 1000 + 1) {
    return wrong("not who was due");
  }
  return rounded(us);
}

Result<Json> measure_looks(sessions::SweepDevice& device, std::uint32_t session_count) {
  const auto clock = filled_clock(session_count);
  sessions::DeadlineMirror mirror(device);
  GCOORD_TRY(const std::uint32_t looks, catch_up(mirror, *clock));
  GCOORD_TRY(const double unchanged, look_us(mirror, *clock, 0));
  GCOORD_TRY(const double one, look_us(mirror, *clock, 1));
  GCOORD_TRY(const double most, look_us(mirror, *clock, 16));
  GCOORD_TRY(const double taking, collect_us(mirror, *clock));
  GCOORD_TRY(const double host, host_us(*clock));
  return Json{{"sessions", session_count},
              {"looks_to_catch_up", looks},
              {"look_us", unchanged},
              {"look_one_slice_lowered_us", one},
              {"look_16_slices_apart_lowered_us", most},
              {"look_and_take_one_in_a_thousand_us", taking},
              {"host_us", host}};
}

// One message of keep-alives, in rising order as a node has them.
std::vector<SessionId> keep_alives(std::uint32_t session_count, std::uint32_t round) {
  std::vector<SessionId> sessions;
  for (std::uint32_t k = 0; k < kKeepAlives; ++k) {
    sessions.push_back(
        session_of(1 + static_cast<std::uint32_t>(random64(11, round, k) % session_count)));
  }
  std::ranges::sort(sessions, {}, &SessionId::value);
  return sessions;
}

Result<double> renew_on_host_us(sessions::SessionClock& clock, std::uint32_t session_count) {
  std::vector<double> us;
  for (std::uint32_t round = 0; round < kCalls; ++round) {
    const std::vector<SessionId> sessions = keep_alives(session_count, round);
    const auto began = Clock::now();
    server::RenewPrefetch ahead{clock.columns(), sessions};
    for (std::size_t place = 0; place < sessions.size(); ++place) {
      ahead.before(place);
      if (clock.renew(sessions[place], Tick{2}).code != sessions::RenewCode::Renewed) {
        return wrong("a keep-alive was not answered with Renewed");
      }
    }
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  us.erase(us.begin());
  return rounded(median(us));
}

// The same on the device, ids and outcomes over and back; and what it takes that the device knows
// the columns, and the host what was heard.
Result<Json> measure_renewals(sessions::SweepDevice& device, std::uint32_t session_count) {
  const auto clock = filled_clock(session_count);
  sessions::SessionSweep sweep(device);
  GCOORD_TRY(const double load, median_us([&](std::uint32_t) { return sweep.load(*clock); }));
  std::vector<sessions::RenewOutcome> outcomes(kKeepAlives);
  const std::vector<SessionId> batches[] = {keep_alives(session_count, 0),
                                            keep_alives(session_count, 1)};
  GCOORD_TRY(const double renew, median_us([&](std::uint32_t round) {
               return sweep.renew_all(batches[round % 2], Tick{2}, outcomes);
             }));
  GCOORD_TRY(const double store, median_us([&](std::uint32_t) { return sweep.store(*clock); }));
  GCOORD_TRY(const double host, renew_on_host_us(*clock, session_count));
  return Json{{"sessions", session_count},
              {"keep_alives", kKeepAlives},
              {"device_us", renew},
              {"columns_to_device_us", load},
              {"columns_to_host_us", store},
              {"host_us", host}};
}

// Every session waits for one lock, and four of them for each other.
Result<Json> measure_search(sessions::SweepDevice& device, std::uint32_t edge_count) {
  std::vector<sessions::WaitEdge> edges;
  const std::vector<std::uint8_t> any(edge_count + edge_count / 16);
  for (std::uint32_t k = 0; k < edge_count; ++k) {
    const std::uint64_t holder = random64(12, edge_count, k) % (edge_count / 16);
    edges.push_back({k, k < 4 ? (k + 1) % 4 : edge_count + static_cast<std::uint32_t>(holder)});
  }
  sessions::WaitGraphSearch search(device);
  GCOORD_TRY(const double us, median_us([&](std::uint32_t) {
               GCOORD_TRY(const sessions::WaitFindings found, search.find_all(edges, any));
               return found.cycles.on_cycle.size() == 4 ? Status{} : wrong("not the deadlock");
             }));
  return Json{{"edges", edge_count}, {"us", us}};
}

}  // namespace

Result<Json> measure_node_sweeps(sessions::SweepDevice& device) {
  Json result;
  for (const std::uint32_t session_count : kSessionCounts) {
    GCOORD_TRY(const Json looks, measure_looks(device, session_count));
    GCOORD_TRY(const Json renewals, measure_renewals(device, session_count));
    std::fprintf(stderr, "sweeps: %s\n%s\n", looks.dump().c_str(), renewals.dump().c_str());
    result["looks"].push_back(looks);
    result["renewals"].push_back(renewals);
  }
  for (const std::uint32_t edge_count : kGraphEdges) {
    GCOORD_TRY(const Json search, measure_search(device, edge_count));
    std::fprintf(stderr, "sweeps: %s\n", search.dump().c_str());
    result["searches"].push_back(search);
  }
  return result;
}

}  // namespace gcoord::bench

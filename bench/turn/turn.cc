#include "bench/turn/turn.h"

#include "bench/report/results_file.h"
#include "bench/turn/turn_hash.h"
#include "bench/turn/turn_run.h"
#include "chaos/device_turn/tree_device.h"
#include "common/random.h"
#include "netcore/device/gpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

using chaos::TurnClusterOptions;
using server::kTurnNodes;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kCommands = 50'000;
constexpr std::chrono::seconds kCommitTime{3};
constexpr std::uint32_t kRequests = 20'000;
constexpr std::uint32_t kMillionShards = 1u << 20;

// The node that leads the one shard of a latency: one that has its device to itself, so that no
// quorum is reached without crossing a link; the first where there is none.
std::uint32_t lone_node(const TurnDevices& devices) {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    if (std::count(devices.begin(), devices.end(), devices[n]) == 1) {
      return n;
    }
  }
  return 0;
}

// The result of a stopped run that timed one command after another; `clock` says from where to
// where.
Result<Json> one_at_a_time(TurnRun& run,
                           std::vector<std::uint32_t> samples,
                           int leader_device,
                           const char* clock) {
  GCOORD_TRY_STATUS(run.check_agreement({0, 1, 2}));
  Json row = latency_of(std::move(samples));
  row["leader_on"] = "cuda:" + std::to_string(leader_device);
  row["active_shards"] = 1;
  row["batch_size"] = 1;
  row["clock"] = clock;
  GCOORD_TRY(row["nodes"], counts_of(run));
  return row;
}

// --- One command at a time

Result<Json> measure_commit(const TurnDevices& devices) {
  // Shard n is led by node n when all start together (rank_of in consensus/step/step_row.h).
  const std::uint32_t leader = lone_node(devices);
  TurnClusterOptions options = options_for(kTurnNodes, 1);
  options.timed_row = leader;
  GCOORD_TRY(const auto run, TurnRun::start(options, devices));
  GCOORD_TRY_STATUS(run->cluster().time_commands(leader, kCommands));
  std::vector<std::uint32_t> samples;
  const auto began = Clock::now();
  while (samples.size() < kCommands && Clock::now() - began < kCommitTime) {
    wait_ms(50);
    GCOORD_TRY(samples, run->cluster().samples(leader));
  }
  GCOORD_TRY_STATUS(run->stop_all());
  return one_at_a_time(
      *run,
      std::move(samples),
      devices[leader],
      "%globaltimer of the leader's GPU: from before the step that takes the command "
      "up to its application after the step that counted a quorum");
}

// --- A client on the host

Result<Json> measure_client(const TurnDevices& devices) {
  const std::uint32_t leader = lone_node(devices);
  TurnClusterOptions options = options_for(kTurnNodes, 1);
  options.clients = true;
  GCOORD_TRY(const auto run, TurnRun::start(options, devices));
  const netcore::GpuChannelDevice end = run->cluster().client(leader);
  netcore::LaneSender to = netcore::open_sender(end, netcore::Band::Rpc, 0);
  netcore::LaneReceiver from = netcore::open_receiver(end, netcore::Band::Rpc, 0);
  std::vector<std::uint32_t> samples;
  std::uint32_t refused = 0;
  for (std::uint32_t k = 1; k <= kRequests; ++k) {
    server::TurnRequest request;
    request.shard = ShardId{leader};
    request.tag = k;
    request.word[0] = mix64(k);
    request.word[1] = mix64(request.word[0]);
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &request, sizeof words);
    const auto began = Clock::now();
    const netcore::Reservation place = to.reserve(1);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
    netcore::SlotTile tile;
    while (tile.slot_count == 0 && Clock::now() - began < std::chrono::milliseconds{100}) {
      tile = from.poll(1);
    }
    const std::chrono::nanoseconds took = Clock::now() - began;
    tile.for_each_word(
        [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
    server::TurnReply reply;
    std::memcpy(static_cast<void*>(&reply), words, sizeof reply);
    if (tile.slot_count == 0 || reply.tag != k) {
      return Status{StatusCode::DeadlineExceeded,
                    "request " + std::to_string(k) + " was not answered"};
    }
    from.release(tile);
    refused += reply.verdict == server::TurnVerdict::Committed ? 0 : 1;
    samples.push_back(static_cast<std::uint32_t>(took.count()));
  }
  GCOORD_TRY_STATUS(run->stop_all());
  if (refused != 0) {
    return Status{StatusCode::Internal, std::to_string(refused) + " requests were refused"};
  }
  return one_at_a_time(
      *run,
      std::move(samples),
      devices[leader],
      "the client thread's: from before the request's slot is written until its reply is "
      "read, both through pinned rings");
}

// --- Commands per second

// Ranks campaign so far apart that a node has won its third of a million shards before the next
// one tries: with 2 ms, as where a node is lost, whoever began first led more than half.
constexpr std::uint32_t kSpreadTicks = 400;
// Half an election timeout.
constexpr std::uint32_t kBusyResendTicks = 250;
// Of a lane between nodes, as gcoordd has them.
constexpr std::uint32_t kRingSlots = 1024;

// Where every shard is at work all the time. A follower has one Append under way: what comes
// meanwhile goes with the next one, so that rows need not be stepped, nor slots be spent, for one
// entry after the other. An answer takes up to 10 ms then with a million shards on one device, and
// nothing that is merely waiting is sent again.
TurnClusterOptions busy_options(std::uint32_t shards, std::uint32_t stripes) {
  TurnClusterOptions options = options_for(shards, stripes);
  options.ring_slots = kRingSlots;
  options.timing.timing.stagger_ticks = kSpreadTicks;
  options.timing.timing.resend_ticks = kBusyResendTicks;
  options.timing.limits.window_entries = 1;
  return options;
}

Result<Json> measure_rate(const TurnDevices& devices,
                          std::uint32_t shards,
                          std::uint32_t stripes,
                          std::uint32_t batch) {
  const TurnClusterOptions options = busy_options(shards, stripes);
  GCOORD_TRY(const auto run, TurnRun::start(options, devices));
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY_STATUS(run->cluster().feed(n, batch));
  }
  wait_ms(200);
  GCOORD_TRY(const std::uint64_t before, run->applied(0));
  const auto began = Clock::now();
  wait_ms(500);
  GCOORD_TRY(const std::uint64_t after, run->applied(0));
  const std::chrono::duration<double> took = Clock::now() - began;
  GCOORD_TRY_STATUS(run->stop_all());
  GCOORD_TRY_STATUS(run->check_agreement({0, 1, 2}));
  Json row = {{"shards", shards},
              {"active_shards", shards},
              {"batch_size", batch},
              {"stripes_per_node", stripes},
              {"appends_under_way", "one per follower and shard"},
              {"ring_slots", options.ring_slots},
              {"resend_ticks", options.timing.timing.resend_ticks},
              {"commands_per_s", rounded(static_cast<double>(after - before) / took.count())}};
  GCOORD_TRY(row["nodes"], counts_of(*run));
  std::fprintf(stderr,
               "  %u shards, batch %u, %u stripes: %.1f M commands/s\n",
               shards,
               batch,
               stripes,
               number_of(row["commands_per_s"]).value() / 1e6);
  return row;
}

// --- A lost node

Result<Json> measure_failover(const TurnDevices& devices,
                              std::uint32_t shards,
                              std::uint32_t stripes) {
  GCOORD_TRY(const auto run, TurnRun::start(options_for(shards, stripes), devices));
  wait_ms(200);
  GCOORD_TRY_STATUS(run->stop(1));
  GCOORD_TRY(const chaos::NodeCounts lost, run->cluster().counts(1));
  wait_ms(1000);
  GCOORD_TRY_STATUS(run->stop(0));
  GCOORD_TRY_STATUS(run->stop(2));
  GCOORD_TRY(const Json nodes, counts_of(*run));
  double worst_ms = 0;
  std::uint64_t led = 0;
  for (const std::uint32_t n : {0u, 2u}) {
    GCOORD_TRY(const chaos::NodeCounts counts, run->cluster().counts(n));
    // Node 1 is the first peer of node 0 and the second of node 2.
    const std::uint64_t lost_ns = counts.lost_ns[n == 0 ? 0 : 1];
    worst_ms = std::max(worst_ms, static_cast<double>(counts.sum.elected_ns - lost_ns) * 1e-6);
    led += counts.sum.led;
  }
  if (led != shards) {
    return Status{StatusCode::Internal,
                  std::to_string(led) + " of " + std::to_string(shards) + " shards are led"};
  }
  std::fprintf(stderr, "  failover of %lu shards: %.2f ms\n", lost.sum.led, worst_ms);
  return Json{{"shards", shards},
              {"led_by_the_lost_node", lost.sum.led},
              {"stripes_per_node", stripes},
              {"all_led_after_detection_ms", rounded(worst_ms)},
              {"nodes", nodes},
              {"detection",
               "a survivor's clock finds the node silent for the election timeout less its "
               "margin; followers keep their promise until the timeout's end"},
              {"clock", "%globaltimer of each survivor's GPU; the worse of the two"}};
}

// --- All of it

// What was measured before a failure stays, with the failure beside it: a device's time is dear.
void keep(Json& result, const char* name, Result<Json> measured) {
  if (measured.ok()) {
    const Json& row = measured.value();
    if (row.contains("p50_ns")) {
      std::fprintf(stderr,
                   "  %s: p50 %u ns, p99 %u ns, max %u ns\n",
                   name,
                   static_cast<unsigned>(unsigned_of(row["p50_ns"]).value()),
                   static_cast<unsigned>(unsigned_of(row["p99_ns"]).value()),
                   static_cast<unsigned>(unsigned_of(row["max_ns"]).value()));
    }
    result[name] = measured.value();
  } else {
    result[name] = {{"failed", measured.status().to_string()}};
    std::fprintf(stderr, "  %s: %s\n", name, measured.status().to_string().c_str());
  }
}

Json measured_or_failed(Result<Json> measured) {
  if (measured.ok()) {
    return measured.value();
  }
  std::fprintf(stderr, "  %s\n", measured.status().to_string().c_str());
  return {{"failed", measured.status().to_string()}};
}

}  // namespace

BenchResult bench_turn(const BenchOptions& options) {
  chaos::ask_for_queues();
  GCOORD_TRY(const TurnDevices devices, devices_of(options.device));
  Json result = {
      {"replicas", kTurnNodes},
      {"hosts", 1},
      {"power_domains", 1},
      {"durability",
       "memory: acknowledged once the command is in the device memory of two of three nodes"},
      {"commands", "16 random bytes, hashed by all three services and compared afterwards"},
      {"tick_us", kTickNs / 1000},
      {"driver", "persistent: one resident kernel per node"}};
  for (const int device : devices) {
    GCOORD_TRY(const netcore::GpuFacts facts,
               netcore::gpu_facts(static_cast<std::uint32_t>(device)));
    result["nodes_on"].push_back("cuda:" + std::to_string(device) + " " + facts.name);
  }
  const bool one = devices[0] == devices[1] && devices[1] == devices[2];
  result["channels"] = one ? "loopback on one GPU" : "nvlink between GPUs of one process";
  if (!options.hash.empty()) {
    GCOORD_TRY(const auto plans, parse_hash_plans(options.hash));
    GCOORD_TRY(result["hashing"], measure_hashing(devices, plans, options.shards, options.runs));
    return result;
  }
  keep(result, "commit_one_at_a_time", measure_commit(devices));
  keep(result, "host_client", measure_client(devices));
  GCOORD_TRY(const std::uint32_t stripes, stripes_for(devices));
  for (const std::uint32_t shards : {100'000u, kMillionShards}) {
    for (const std::uint32_t batch : {1u, 4u, 16u}) {
      result["rates"].push_back(measured_or_failed(measure_rate(devices, shards, stripes, batch)));
    }
  }
  keep(result, "failover", measure_failover(devices, kMillionShards, stripes));
  return result;
}

}  // namespace gcoord::bench

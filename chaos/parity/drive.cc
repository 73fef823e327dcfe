#include "chaos/parity/drive.h"

#include "common/random.h"

namespace gcoord::chaos {
namespace {

using consensus::Heartbeat;
using consensus::LivenessChange;
using consensus::PeerLiveness;

// Kinds of node-level chance.
constexpr std::uint32_t kCut = 1;
constexpr std::uint32_t kRestart = 2;
constexpr std::uint32_t kStall = 3;

// The node in place k of a node's peers.
constexpr std::uint32_t peer_number(std::uint32_t node, std::uint32_t k) {
  return k < node ? k : k + 1;
}

// The place of a node among the peers of another.
constexpr std::uint32_t place_of(std::uint32_t node, std::uint32_t peer) {
  return peer < node ? peer : peer - 1;
}

// Short, so that elections, lapses and transfers happen all the time.
constexpr consensus::Timing kHastyTiming{
    .election_ticks = 20, .resend_ticks = 4, .stagger_ticks = 2, .lease_margin_ticks = 2};

}  // namespace

ResidentDriveOptions hostile_drive(std::uint64_t seed, std::uint32_t entries_max) {
  ResidentDriveOptions options;
  options.seed = seed;
  options.timing = kHastyTiming;
  options.limits = {
      .window_entries = 16, .uncommitted_entries = 32, .message_entries = entries_max};
  // Of 65,536: a message in fifty is lost, one in fifty late, a row in five hundred campaigns, ...
  options.rates = {.by_chance = 1,
                   .lost = 1300,
                   .late = 1300,
                   .campaign = 130,
                   .propose = 16000,
                   .read = 2000,
                   .transfer = 130,
                   .configure = 200,
                   .compact = 1000,
                   .wake = 52000,
                   .proposal_count = 2};
  options.turns_per_cut = 20;
  options.turns_per_restart = 60;
  options.turns_per_stall = 10;
  return options;
}

ResidentDriveOptions quiet_drive(std::uint64_t seed, std::uint32_t entries_max) {
  ResidentDriveOptions options;
  options.seed = seed;
  options.limits.message_entries = entries_max;
  return options;
}

ResidentDrive::ResidentDrive(const ResidentDriveOptions& options) : options_(options) {
  for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
    for (std::uint32_t k = 0; k + 1 < kResidentNodes; ++k) {
      node_[node].peer[k].node = NodeId{peer_number(node, k) + 1};
    }
  }
}

// Clocks of different nodes have nothing to do with each other.
Tick ResidentDrive::tick_of(std::uint32_t node) const {
  constexpr std::uint64_t kApart = 1000;
  return Tick{number_ + kApart * (node + 1)};
}

bool ResidentDrive::happens(std::uint32_t what,
                            std::uint32_t node,
                            std::uint32_t turns_per_one) const {
  const std::uint64_t word = random64(options_.seed, what << 8 | node, number_);
  return turns_per_one != 0 && random_below(word, turns_per_one) == 0;
}

void ResidentDrive::restart(std::uint32_t node) {
  Node& one = node_[node];
  ++one.incarnation;
  one.vote_after = tick_of(node) + options_.timing.election_ticks;
  for (std::uint32_t k = 0; k + 1 < kResidentNodes; ++k) {
    one.peer[k] = PeerLiveness{.node = one.peer[k].node};
    one.arriving[k] = Heartbeat{};
  }
  ++restarts_;
}

// Everybody says what it heard until the last turn; it arrives in the next one.
void ResidentDrive::exchange_heartbeats() {
  for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
    for (std::uint32_t k = 0; k + 1 < kResidentNodes; ++k) {
      const std::uint32_t other = peer_number(node, k);
      const PeerLiveness& heard = node_[other].peer[place_of(other, node)];
      const bool cut = number_ < node_[node].cut_until[k];
      node_[node].arriving[k] = cut ? Heartbeat{}
                                    : Heartbeat{.incarnation = node_[other].incarnation,
                                                .echo_incarnation = heard.incarnation,
                                                .send = tick_of(other),
                                                .echo = heard.peer_tick};
    }
  }
}

// Takes in what arrived; whether the liveness of a peer changed.
bool ResidentDrive::hear(std::uint32_t node) {
  Node& one = node_[node];
  bool changed = false;
  for (std::uint32_t k = 0; k + 1 < kResidentNodes; ++k) {
    const Tick now = tick_of(node);
    const LivenessChange heard = consensus::on_heartbeat(
        one.peer[k], one.arriving[k], one.incarnation, now, options_.timing);
    const LivenessChange passed = consensus::refresh(one.peer[k], now, options_.timing);
    changed = changed || heard != LivenessChange::None || passed != LivenessChange::None;
    one.peer[k].credit =
        happens(kStall, node * kResidentNodes + k, options_.turns_per_stall) ? 0 : 1u << 30;
    if (happens(kCut, node * kResidentNodes + k, options_.turns_per_cut)) {
      const std::uint64_t word = random64(options_.seed, k, number_);
      one.cut_until[k] = number_ + 1 + random_below(word, 2 * options_.timing.election_ticks);
      ++cuts_;
    }
  }
  return changed;
}

void ResidentDrive::fill(std::uint32_t node, NodeTurn& turn) {
  turn.restart = happens(kRestart, node, options_.turns_per_restart) ? 1 : 0;
  turn.wake_all = hear(node) ? 1 : 0;
  Node& one = node_[node];
  turn.input.tick = tick_of(node);
  turn.input.seed = options_.seed + node;
  turn.input.self = NodeId{node + 1};
  turn.input.vote_after = one.vote_after;
  turn.input.timing = options_.timing;
  turn.input.limits = options_.limits;
  turn.input.peer_count = kResidentNodes - 1;
  for (std::uint32_t k = 0; k + 1 < kResidentNodes; ++k) {
    turn.peer[k] = one.peer[k];
  }
  if (turn.restart != 0) {
    restart(node);  // From the next turn on.
  }
}

ResidentTurn ResidentDrive::next() {
  ++number_;
  ResidentTurn turn;
  turn.number = number_;
  turn.seed = options_.seed;
  turn.rates = options_.rates;
  for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
    fill(node, turn.node[node]);
  }
  exchange_heartbeats();
  return turn;
}

}  // namespace gcoord::chaos

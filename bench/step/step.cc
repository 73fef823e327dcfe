#include "bench/step/step.h"

#include "bench/cluster/device_name.h"
#include "bench/report/results_file.h"
#include "bench/step/step_device.h"
#include "consensus/step/recover.h"
#include "consensus/step/stepper.h"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;
using consensus::Inbox;
using consensus::Message;
using consensus::Outbox;

constexpr std::uint32_t kNodes = 3;

// Rows of one call to the stepper: inboxes and outboxes of a batch stay within a cache of a few
// megabytes, as they do in a turn of a node.
constexpr std::uint32_t kBatchRows = 1024;

// What reached one replica since its last step.
struct Mailbox {
  std::array<Message, consensus::kInboxMessages> message;
  std::uint32_t count = 0;
  consensus::StorageAck storage_ack;
  LogIndex applied;
};

consensus::Configuration three_voters() {
  consensus::Configuration configuration;
  for (std::uint32_t slot = 0; slot < kNodes; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  configuration.voters = 0b111;
  return configuration;
}

class Replicas {
 public:
  explicit Replicas(std::uint32_t shards) : shards_(shards) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      steppers_.push_back(consensus::make_cpu_stepper(shards, kNodes));
      mailboxes_.emplace_back(shards);
      for (std::uint32_t row = 0; row < shards; ++row) {
        consensus::recover(
            {steppers_[node]->columns(), row}, {.configuration = three_voters()}, NodeId{node + 1});
      }
    }
  }

  // One turn of every node over every row. Leaders of even load: node k campaigns for every third
  // shard. Returns the time inside the stepper.
  std::chrono::nanoseconds turn(bool campaign, std::uint32_t proposals) {
    ++tick_;
    std::chrono::nanoseconds inside{0};
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      for (std::uint32_t first = 0; first < shards_; first += kBatchRows) {
        const std::uint32_t count = std::min(kBatchRows, shards_ - first);
        fill(node, first, count, campaign, proposals);
        const consensus::StepInput input = input_of(node);
        const auto began = Clock::now();
        const Status stepped =
            steppers_[node]->step(std::span{rows_}.first(count), in_, out_, input);
        inside += Clock::now() - began;
        GCOORD_ASSERT(stepped.ok());
        drain_outbox(node, count);
      }
    }
    return inside;
  }

  // Entries decided so far, over all shards, as their leaders know.
  std::uint64_t committed() const {
    std::uint64_t sum = 0;
    for (std::uint32_t row = 0; row < shards_; ++row) {
      sum += steppers_[row % kNodes]->columns().log[row].commit.value;
    }
    return sum;
  }

  std::uint32_t led() const {
    std::uint32_t count = 0;
    for (std::uint32_t row = 0; row < shards_; ++row) {
      const auto& hot = steppers_[row % kNodes]->columns().hot[row];
      count += hot.role == consensus::Role::Leader ? 1u : 0u;
    }
    return count;
  }

 private:
  // Everybody heard everybody a moment ago.
  consensus::StepInput input_of(std::uint32_t node) {
    std::uint32_t others = 0;
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      if (other != node) {
        peers_[others++] = {.node = NodeId{other + 1},
                            .incarnation = Incarnation{1},
                            .session = 1,
                            .credit = 1u << 30,
                            .heard = tick_,
                            .acked_send = tick_,
                            .peer_tick = tick_,
                            .session_base = Tick{1},
                            .live = 1};
      }
    }
    return {.tick = tick_,
            .seed = node,
            .self = NodeId{node + 1},
            .peer = peers_.data(),
            .peer_count = others};
  }

  void fill(std::uint32_t node,
            std::uint32_t first,
            std::uint32_t count,
            bool campaign,
            std::uint32_t proposals) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t row = first + k;
      rows_[k] = row;
      Mailbox& mailbox = mailboxes_[node][row];
      Inbox& in = in_[k];
      in = Inbox{};
      in.message_count = mailbox.count;
      std::copy_n(mailbox.message.begin(), mailbox.count, in.message);
      in.storage_ack = mailbox.storage_ack;
      in.applied = mailbox.applied;
      in.campaign = campaign && row % kNodes == node ? 1 : 0;
      in.proposal_count = row % kNodes == node ? proposals : 0;
      mailbox.count = 0;
      mailbox.storage_ack = {};
      mailbox.applied = {};
      out_[k].clear();
    }
  }

  // Storage and application are done at once; their acknowledgements wait for the next step.
  void drain_outbox(std::uint32_t node, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const Outbox& out = out_[k];
      Mailbox& own = mailboxes_[node][rows_[k]];
      if (out.storage.present != 0) {
        own.storage_ack = {out.storage.term, out.storage.vote, 1};
      }
      if (out.apply.first.value != 0) {
        own.applied = out.apply.last;
      }
      for (std::uint32_t m = 0; m < out.message_count; ++m) {
        Mailbox& other = mailboxes_[out.message[m].to.value - 1][rows_[k]];
        if (other.count < other.message.size()) {
          other.message[other.count++] = out.message[m];
        }
      }
    }
  }

  std::uint32_t shards_;
  Tick tick_{1000};
  std::vector<std::unique_ptr<consensus::Stepper>> steppers_;
  std::vector<std::vector<Mailbox>> mailboxes_;
  std::array<consensus::PeerLiveness, kNodes> peers_{};
  std::array<std::uint32_t, kBatchRows> rows_{};
  std::vector<Inbox> in_{kBatchRows};
  std::vector<Outbox> out_{kBatchRows};
};

struct Phase {
  double steps_per_second = 0;
  double commits_per_second = 0;
};

Phase measure(Replicas& replicas, const BenchOptions& options, std::uint32_t proposals) {
  std::chrono::nanoseconds inside{0};
  std::uint64_t turns = 0;
  const std::uint64_t before = replicas.committed();
  while (inside < options.measured) {
    inside += replicas.turn(false, proposals);
    ++turns;
  }
  const double seconds = std::chrono::duration<double>(inside).count();
  const double steps = static_cast<double>(turns * kNodes) * options.shards;
  const auto commits = static_cast<double>(replicas.committed() - before);
  return {steps / seconds, commits / seconds};
}

}  // namespace

BenchResult bench_step(const BenchOptions& options) {
  if (options.device != "cpu") {
    GCOORD_TRY(const int device, device_number(options.device));
    return bench_step_on_device(options, device);
  }
  Replicas replicas{options.shards};
  replicas.turn(true, 0);
  constexpr int kElectionTurns = 32;
  for (int turn = 0; turn < kElectionTurns; ++turn) {
    replicas.turn(false, 0);
  }
  if (replicas.led() != options.shards) {
    return Status{StatusCode::Internal,
                  std::to_string(replicas.led()) + " shards were led, not all"};
  }
  const Phase idle = measure(replicas, options, 0);
  const Phase busy = measure(replicas, options, 1);
  std::fprintf(stderr,
               "  %u shards x 3: %.1f M steps/s with nothing to do, %.1f M steps/s and %.2f M "
               "commits/s with a proposal per shard and turn\n",
               options.shards,
               idle.steps_per_second / 1e6,
               busy.steps_per_second / 1e6,
               busy.commits_per_second / 1e6);
  return Json{{"shards", options.shards},
              {"replicas", kNodes},
              {"stepper", "cpu"},
              {"cores", 1},
              {"idle_steps_per_s", rounded(idle.steps_per_second)},
              {"busy_steps_per_s", rounded(busy.steps_per_second)},
              {"commits_per_s", rounded(busy.commits_per_second)}};
}

}  // namespace gcoord::bench

#include "server/platform/step_trial.h"

#include "common/assert.h"
#include "consensus/step/recover.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace gcoord::server {
namespace {

constexpr NodeId kSelf{1};
constexpr Tick kTick{1'000};
// A campaign, its vote, the first entry of the term, and a few commands.
constexpr std::uint32_t kTurnsBefore = 16;

consensus::Configuration alone() {
  consensus::Configuration configuration;
  configuration.node[0] = kSelf;
  configuration.weight[0] = 1;
  configuration.voters = 1;
  return configuration;
}

// Rows that lead alone, and what each hears next.
class TrialRows {
 public:
  TrialRows(consensus::Stepper& stepper, std::uint32_t count)
      : stepper_(stepper), rows_(count), in_(count), out_(count) {
    for (std::uint32_t row = 0; row < count; ++row) {
      rows_[row] = row;
      consensus::recover({stepper.columns(), row}, {.configuration = alone()}, kSelf);
      in_[row].campaign = 1;
    }
  }

  Status turn() {
    for (consensus::Outbox& out : out_) {
      out.clear();
    }
    const consensus::StepInput input{.tick = kTick, .self = kSelf};
    GCOORD_TRY_STATUS(stepper_.step(rows_, in_, out_, input));
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      hear(out_[k], in_[k]);
    }
    return {};
  }

  // Whether every row has decided commands.
  bool decide() const {
    return std::ranges::all_of(rows_, [this](std::uint32_t row) {
      return stepper_.columns().hot[row].role == consensus::Role::Leader &&
             stepper_.columns().log[row].commit > LogIndex{1};
    });
  }

 private:
  static void hear(const consensus::Outbox& out, consensus::Inbox& in) {
    in = consensus::Inbox{};
    in.proposal_count = 1;
    if (out.storage.present != 0) {
      in.storage_ack = {out.storage.term, out.storage.vote, 1};
    }
    if (out.apply.first.value != 0) {
      in.applied = out.apply.last;
    }
  }

  consensus::Stepper& stepper_;
  std::vector<std::uint32_t> rows_;
  std::vector<consensus::Inbox> in_;
  std::vector<consensus::Outbox> out_;
};

}  // namespace

Result<std::chrono::nanoseconds> time_turn(consensus::Stepper& stepper, const TrialTurns& turns) {
  GCOORD_ASSERT(turns.count != 0);
  TrialRows rows{stepper, turns.rows};
  for (std::uint32_t k = 0; k < kTurnsBefore; ++k) {
    GCOORD_TRY_STATUS(rows.turn());
  }
  if (!rows.decide()) {
    return Status{StatusCode::Internal, "the rows of a trial decide nothing"};
  }
  std::vector<std::chrono::nanoseconds> times;
  const std::chrono::nanoseconds began = turns.now();
  std::chrono::nanoseconds now = began;
  while (times.size() < turns.count && (times.empty() || now - began < turns.most)) {
    GCOORD_TRY_STATUS(rows.turn());
    const std::chrono::nanoseconds after = turns.now();
    times.push_back(after - now);
    now = after;
  }
  const auto median = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, median);
  return *median;
}

std::string compare_times(const TrialTime& taken, const TrialTime& other, const TrialTurns& turns) {
  const auto us = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  return fmt::format("{} takes {:.1f} us for a turn of {} shards, {} takes {:.1f} us",
                     taken.what,
                     us(taken.turn),
                     turns.rows,
                     other.what,
                     us(other.turn));
}

}  // namespace gcoord::server

#include "server/peers/members_mover.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using consensus::MembersPlan;
using consensus::MembersStep;
using consensus::ShardRef;

MetricName change(std::string_view step) {
  return {.name = "gcoord_server_members_changes_total",
          .help = "Proposals that bring shards to the members that the view of the cluster wants",
          .label_key = "step",
          .label_value = std::string(step)};
}

// A node that was let in comes within so many election timeouts, or is waited for no longer.
constexpr std::uint32_t kAwaitElections = 10;

}  // namespace

MembersMover::MembersMover(const Options& options,
                           const consensus::ShardColumns& columns,
                           MetricsRegistry& registry)
    : self_(options.self),
      columns_(columns),
      led_(columns.row_count),
      settled_(columns.row_count),
      ready_(columns.row_count),
      rows_(columns.row_count, kUnderWayMax / options.parts),
      learner_changes_(registry.counter(change("learners"))),
      voter_changes_(registry.counter(change("voters"))),
      transfers_(registry.counter(change("transfer"))),
      under_way_gauge_(registry.gauge(
          {.name = "gcoord_server_members_under_way",
           .help = "Shards led here whose members are being changed to what the view wants"})) {
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    all_sum_ += progress_mark(ShardRef(columns_, row).shard());
  }
}

MembersMover::~MembersMover() {
  show(0);
}

void MembersMover::set_targets(const MembersTargets& targets, std::uint64_t epoch) {
  epoch_ = epoch;
  if (targets == targets_) {
    return;  // All that was found stays so.
  }
  targets_ = targets;
  joiners_.since = Tick{};
  joiners_.awaited = targets.shards.joining_count != 0;
  on_ = targets.shards.voter_count != 0;
  calm_ = keeps_leaderships(self_) && targets.shards.joining_count == 0;
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    ready_.assign(row, false);
    look_at_row(row);
  }
}

void MembersMover::look_at_row(std::uint32_t row) {
  const bool led = on_ && leads(row);
  led_.assign(row, led);
  const consensus::MembersTarget& target = targets_.of(ShardRef(columns_, row).shard());
  const bool wanted =
      led && decided(row) && as_wanted(columns_.configuration[row], target, columns_.slot_count);
  settle(row, wanted && (settled_.test(row) || is_known(row)));
  ready_.assign(row, led && (target.joining_count == 0 || ready_.test(row)));
  const bool wants = led && !(calm_ && settled_.test(row));
  rows_.note(row, wants);
}

// Whether a majority knows that the row's configuration is decided, on its disks
// (consensus/step/decided.h). Whoever does not still goes by the one before, which may need nodes
// that leave: when this leader dies, one that knows has to be among those that are left.
bool MembersMover::is_known(std::uint32_t row) const {
  const consensus::Configuration& configuration = columns_.configuration[row];
  const ShardRef shard(columns_, row);
  consensus::SlotMask knows = 0;
  for (std::uint32_t slot = 0; slot < columns_.slot_count; ++slot) {
    const bool has_said = (shard.progress(slot).flags & consensus::kProgressKnowsCommit) != 0;
    if (configuration.node[slot] == self_ || has_said) {
      knows = static_cast<consensus::SlotMask>(knows | consensus::slot_bit(slot));
    }
  }
  return is_quorum(configuration, knows);
}

void MembersMover::settle(std::uint32_t row, bool settled) {
  if (settled_.test(row) != settled) {
    const std::uint64_t mark = progress_mark(ShardRef(columns_, row).shard());
    settled_sum_ += settled ? mark : ~mark + 1;
  }
  settled_.assign(row, settled);
}

// A bit for each joining node of the target that lives.
std::uint32_t MembersMover::live_joiners(const consensus::StepInput& input) const {
  const consensus::MembersTarget& target = targets_.shards;
  std::uint32_t live = 0;
  for (std::uint32_t k = 0; k < target.count && target.joining_count != 0; ++k) {
    const bool joins = (target.node[k].flags & consensus::kTargetJoining) != 0;
    const Found<consensus::PeerLiveness> peer = find_peer(input, target.node[k].node);
    live |= joins && peer.found() && peer->live != 0 ? 1u << k : 0u;
  }
  return live;
}

// One that never comes holds up nobody for longer than kAwaitElections.
void MembersMover::await_joiners(std::uint32_t live, const consensus::StepInput& input) {
  const consensus::MembersTarget& target = targets_.shards;
  joiners_.since = joiners_.since.value == 0 ? input.tick : joiners_.since;
  bool unmet = false;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    const NodeId node = target.node[k].node;
    if ((target.node[k].flags & consensus::kTargetJoining) == 0) {
      continue;
    }
    const bool met = std::ranges::find(joiners_.met, node) != joiners_.met.end();
    if (!met && (live >> k & 1u) != 0) {
      joiners_.met.push_back(node);
    } else {
      unmet = unmet || !met;
    }
  }
  const std::uint64_t patience = std::uint64_t{kAwaitElections} * input.timing.election_ticks;
  joiners_.awaited = unmet && input.tick < joiners_.since + patience;
}

// A joiner that dies holds up no row any more, and its death steps none.
void MembersMover::advance(const consensus::StepInput& input, ActiveRows& rows) {
  const std::uint32_t live = live_joiners(input);
  if (std::exchange(live_joiners_, live) != live) {
    for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
      look_at_row(row);
    }
  }
  if (joiners_.awaited) {
    await_joiners(live, input);
  }
  rows_.advance(input.tick, [&](std::uint32_t row) { look_at(row, input, rows); });
  show(rows_.under_way_count());
}

void MembersMover::show(std::int64_t under_way) {
  under_way_gauge_.add(under_way - std::exchange(under_way_shown_, under_way));
}

// Whether something is on its way that will end by itself: the row is worth its place. What it
// waits for otherwise comes with a step, and a step has it looked at again; so does the return of
// a node, which steps every row.
bool MembersMover::worth_waiting(std::uint32_t row, const consensus::StepInput& input) const {
  const bool transfers = columns_.election[row].transfer_target != consensus::kSlotNone;
  const ShardRef shard(columns_, row);
  return !decided(row) || transfers || learners_catch_up(shard, input, targets_.of(shard.shard()));
}

void MembersMover::look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows) {
  const ShardRef shard(columns_, row);
  const consensus::MembersTarget& target = targets_.of(shard.shard());
  ready_.assign(row, joiners_ready(shard, input, target));
  const MembersPlan plan = plan_members(shard, input, target);
  const RowWork* work = rows.find(row);
  const bool taken = work != nullptr && (work->proposed || work->transfer_to.value != 0);
  if (plan.step != MembersStep::None && !taken) {
    propose(row, plan, rows);
  } else if (!taken) {
    rows_.keep(row, worth_waiting(row, input));
  }
}

void MembersMover::propose(std::uint32_t row, const MembersPlan& plan, ActiveRows& rows) {
  if (plan.step == MembersStep::Transfer) {
    transfers_.add();
    rows.touch(row).transfer_to = columns_.configuration[row].node[plan.heir];
    return;
  }
  (plan.step == MembersStep::Learners ? learner_changes_ : voter_changes_).add();
  rows.touch(row).proposed = std::make_unique<consensus::Configuration>(plan.configuration);
}

bool MembersMover::keeps_leaderships(NodeId node) const {
  const Found<consensus::TargetNode> found = find_target(targets_.shards, node);
  return !on_ || (found.found() && (found->flags & consensus::kTargetLeads) != 0);
}

MembersProgress MembersMover::progress() const {
  return {.epoch = epoch_,
          .led = led_.count(),
          .settled = settled_.count(),
          .ready = joiners_.awaited ? 0 : ready_.count(),
          .settled_sum = settled_sum_,
          .all_sum = all_sum_};
}

}  // namespace gcoord::server

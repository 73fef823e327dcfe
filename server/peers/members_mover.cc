#include "server/peers/members_mover.h"

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
           .help = "Shards led here whose members are being changed to what the view wants"})) {}

MembersMover::~MembersMover() {
  show(0);
}

void MembersMover::set_target(const consensus::MembersTarget& target, std::uint64_t epoch) {
  target_ = target;
  epoch_ = epoch;
  on_ = target.voter_count != 0;
  calm_ = keeps_leaderships(self_) && target.joining_count == 0;
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    ready_.assign(row, false);
    look_at_row(row);
  }
}

void MembersMover::look_at_row(std::uint32_t row) {
  const bool led = on_ && leads(row);
  led_.assign(row, led);
  settled_.assign(
      row,
      led && decided(row) && as_wanted(columns_.configuration[row], target_, columns_.slot_count));
  ready_.assign(row, led && (target_.joining_count == 0 || ready_.test(row)));
  const bool wants = led && !(calm_ && settled_.test(row));
  rows_.note(row, wants);
}

void MembersMover::advance(const consensus::StepInput& input, ActiveRows& rows) {
  rows_.advance([&](std::uint32_t row) { look_at(row, input, rows); });
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
  return !decided(row) || transfers || learners_catch_up(ShardRef(columns_, row), input, target_);
}

void MembersMover::look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows) {
  const ShardRef shard(columns_, row);
  ready_.assign(row, joiners_ready(shard, input, target_));
  const MembersPlan plan = plan_members(shard, input, target_);
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
  const Found<consensus::TargetNode> found = find_target(target_, node);
  return !on_ || (found.found() && (found->flags & consensus::kTargetLeads) != 0);
}

MembersProgress MembersMover::progress() const {
  return {
      .epoch = epoch_, .led = led_.count(), .settled = settled_.count(), .ready = ready_.count()};
}

}  // namespace gcoord::server

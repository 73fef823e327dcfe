#include "server/readmission.h"

#include "consensus/readmission_plan.h"

#include <memory>

namespace gcoord::server {
namespace {

using consensus::ReadmissionStep;
using consensus::Role;

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_" + std::string(name), .help = std::string(help)};
}

MetricName change(std::string_view step) {
  MetricName name = plain("readmission_changes_total",
                          "Configurations proposed to bring back replicas without a memory");
  name.label_key = "step";
  name.label_value = std::string(step);
  return name;
}

bool votes(const consensus::ShardColumns& columns, std::uint32_t row) {
  const consensus::Hot& hot = columns.hot[row];
  return (hot.flags & consensus::kRowForgetful) == 0 && hot.self_slot != consensus::kSlotNone &&
         consensus::has_slot(columns.configuration[row].voters_either(), hot.self_slot);
}

}  // namespace

void Readmission::CountedRows::assign(std::uint32_t row, bool member) {
  if (bits.test(row) == member) {
    return;
  }
  if (member) {
    bits.set(row);
    ++count;
  } else {
    bits.reset(row);
    --count;
  }
}

Readmission::Readmission(consensus::Durability durability,
                         const consensus::ShardColumns& columns,
                         MetricsRegistry& registry)
    : enabled_(durability == consensus::Durability::Memory),
      columns_(columns),
      voting_(enabled_ ? columns.row_count : 0),
      forgotten_(enabled_ ? columns.row_count : 0),
      unled_(enabled_ ? columns.row_count : 0),
      marked_(enabled_ ? columns.row_count : 0),
      demotions_(registry.counter(change("demote"))),
      anchors_(registry.counter(change("anchor"))),
      promotions_(registry.counter(change("promote"))),
      voting_gauge_(
          registry.gauge(plain("voting_shards", "Memory mode: shards in which this node votes"))),
      forgotten_gauge_(registry.gauge(plain(
          "forgotten_shards", "Memory mode: shards whose promises this node has forgotten"))) {}

void Readmission::note(std::uint32_t row) {
  if (!enabled_) {
    return;
  }
  const consensus::Hot& hot = columns_.hot[row];
  voting_.assign(row, votes(columns_, row));
  forgotten_.assign(row, (hot.flags & consensus::kRowForgetful) != 0);
  unled_.assign(row, hot.leader == NodeId{0});
  const bool marks = hot.role == Role::Leader && !marked_.test(row) &&
                     consensus::wants_readmission(consensus::ShardRef(columns_, row));
  if (marks) {
    marked_.set(row);
    ++marked_count_;
  }
}

void Readmission::note_all() {
  for (std::uint32_t row = 0; enabled_ && row < columns_.row_count; ++row) {
    note(row);
  }
}

void Readmission::advance(const consensus::StepInput& input, ActiveRows& rows) {
  if (!enabled_) {
    return;
  }
  for (std::uint32_t looks = 0; looks < kLooksPerTurn && marked_count_ != 0; ++looks) {
    cursor_ = marked_.next_in_either(marked_, cursor_);
    if (cursor_ == columns_.row_count) {
      cursor_ = 0;
      continue;
    }
    marked_.reset(cursor_);
    --marked_count_;
    look_at(cursor_, input, rows);
    ++cursor_;
  }
  voting_gauge_.set(voting_count());
  forgotten_gauge_.set(forgotten_count());
}

// What the row waits for otherwise comes with a step, and a step marks it again.
void Readmission::look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows) {
  const consensus::ReadmissionPlan plan =
      consensus::plan_readmission(consensus::ShardRef(columns_, row), input);
  switch (plan.step) {
    case ReadmissionStep::None:
      return;
    case ReadmissionStep::Demote:
      demotions_.add();
      break;
    case ReadmissionStep::Anchor:
      anchors_.add();
      break;
    case ReadmissionStep::Promote:
      promotions_.add();
      break;
  }
  rows.touch(row).proposed = std::make_unique<consensus::Configuration>(plan.configuration);
}

}  // namespace gcoord::server

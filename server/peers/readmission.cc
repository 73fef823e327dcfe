#include "server/peers/readmission.h"

#include "common/assert.h"
#include "consensus/step/readmission_plan.h"

#include <memory>
#include <utility>

namespace gcoord::server {
namespace {

using consensus::ReadmissionStep;
using consensus::Role;

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_" + std::string(name), .help = std::string(help)};
}

MetricName change(std::string_view step) {
  MetricName name = plain("readmission_changes_total",
                          "Configurations proposed to re-admit replicas that lost their state");
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

Readmission::Readmission(const Options& options,
                         const consensus::ShardColumns& columns,
                         MetricsRegistry& registry)
    : enabled_(options.durability == consensus::Durability::Memory),
      under_way_max_(kUnderWayMax / options.parts),
      columns_(columns),
      voting_(columns.row_count),
      forgotten_(columns.row_count),
      unled_(columns.row_count),
      queued_(columns.row_count),
      under_way_(columns.row_count),
      stepped_(columns.row_count),
      demotions_(registry.counter(change("demote"))),
      anchors_(registry.counter(change("anchor"))),
      promotions_(registry.counter(change("promote"))),
      voting_gauge_(registry.gauge(
          plain("voting_shards",
                "Shards in which this node votes and other replicas have lost their state"))),
      forgotten_gauge_(
          registry.gauge(plain("forgotten_shards", "Shards whose promises this node has lost"))) {}

Readmission::~Readmission() {
  show(0, 0);
}

void Readmission::turn_on() {
  if (!enabled_) {
    enabled_ = true;
    note_all();
  }
}

void Readmission::look_at_row(std::uint32_t row) {
  const consensus::Hot& hot = columns_.hot[row];
  forgotten_.assign(row, (hot.flags & consensus::kRowForgetful) != 0);
  if (!enabled_) {
    return;
  }
  voting_.assign(row, votes(columns_, row));
  const bool unled = hot.leader == NodeId{0};
  led_anew_ += unled_.bits.test(row) && !unled ? 1 : 0;
  unled_.assign(row, unled);
  const bool wants =
      hot.role == Role::Leader && consensus::wants_readmission(consensus::ShardRef(columns_, row));
  under_way_.assign(row, wants && under_way_.bits.test(row));
  stepped_.assign(row, under_way_.bits.test(row));
  queued_.assign(row, wants && !under_way_.bits.test(row));
}

void Readmission::note_all() {
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    look_at_row(row);
  }
}

std::uint32_t Readmission::take_next(CountedRows& set) {
  cursor_ = set.bits.next_in_either(set.bits, cursor_);
  if (cursor_ == columns_.row_count) {
    cursor_ = set.bits.next_in_either(set.bits, 0);
  }
  GCOORD_ASSERT(cursor_ < columns_.row_count);
  set.assign(cursor_, false);
  return cursor_;
}

void Readmission::advance(const consensus::StepInput& input, ActiveRows& rows) {
  if (!enabled_) {
    return;
  }
  while (stepped_.count != 0) {
    look_at(take_next(stepped_), input, rows);
  }
  for (std::uint32_t looks = 0;
       looks < under_way_max_ && queued_.count != 0 && under_way_.count < under_way_max_;
       ++looks) {
    const std::uint32_t row = take_next(queued_);
    under_way_.assign(row, true);
    look_at(row, input, rows);
  }
  show(voting_count(), forgotten_count());
}

void Readmission::show(std::int64_t voting, std::int64_t forgotten) {
  voting_gauge_.add(voting - std::exchange(voting_shown_, voting));
  forgotten_gauge_.add(forgotten - std::exchange(forgotten_shown_, forgotten));
}

// Whether some member that is missed can be talked to: the row is worth its place.
bool Readmission::worth_waiting(std::uint32_t row, const consensus::StepInput& input) const {
  const consensus::Configuration& configuration = columns_.configuration[row];
  for (std::uint32_t slot = 0; slot < columns_.slot_count; ++slot) {
    const Found<consensus::PeerLiveness> peer = find_peer(input, configuration.node[slot]);
    const bool waits = consensus::has_slot(configuration.learners, slot);
    const bool forgot = (consensus::ShardRef(columns_, row).progress(slot).flags &
                         consensus::kProgressForgetful) != 0;
    if (peer.found() && peer->live != 0 && (waits || forgot)) {
      return true;
    }
  }
  return false;
}

// What the row waits for otherwise comes with a step, and a step has it looked at again; so does
// the return of a node, which steps every row.
void Readmission::look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows) {
  const consensus::ReadmissionPlan plan =
      consensus::plan_readmission(consensus::ShardRef(columns_, row), input);
  switch (plan.step) {
    case ReadmissionStep::None:
      under_way_.assign(row, worth_waiting(row, input));
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

#include "server/peers/readmission.h"

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

Readmission::Readmission(const Options& options,
                         const consensus::ShardColumns& columns,
                         MetricsRegistry& registry)
    : enabled_(options.durability == consensus::Durability::Memory),
      columns_(columns),
      voting_(columns.row_count),
      forgotten_(columns.row_count),
      unled_(columns.row_count),
      rows_(columns.row_count, kUnderWayMax / options.parts),
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
  led_anew_ += unled_.test(row) && !unled ? 1 : 0;
  unled_.assign(row, unled);
  const bool wants =
      hot.role == Role::Leader && consensus::wants_readmission(consensus::ShardRef(columns_, row));
  rows_.note(row, wants);
}

void Readmission::note_all() {
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    look_at_row(row);
  }
}

void Readmission::advance(const consensus::StepInput& input, ActiveRows& rows) {
  if (!enabled_) {
    return;
  }
  rows_.advance([&](std::uint32_t row) { look_at(row, input, rows); });
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
      rows_.keep(row, worth_waiting(row, input));
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

#include "client/members/members.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/view_messages.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Of Unix milliseconds; what no clock can say is its latest.
std::chrono::system_clock::time_point time_of(std::uint64_t unix_ms) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 42;
  return std::chrono::system_clock::time_point{
      milliseconds{static_cast<std::int64_t>(std::min(unix_ms, kMax))}};
}

MemberDescription description_of(const protocol::Member& member) {
  MemberDescription described;
  described.node_id = member.id.value;
  described.incarnation = member.incarnation.value;
  described.role = static_cast<MemberRole>(member.role);
  described.state = static_cast<MemberState>(member.state);
  described.weight = member.weight;
  described.name = member.name;
  described.peer_address = member.peer_address;
  described.client_address = member.client_address;
  for (const protocol::MemberLabel& label : member.labels) {
    described.labels.push_back({label.key, label.value});
  }
  described.invited = member.invitation.has_value();
  described.invited_until = time_of(member.invitation ? member.invitation->deadline_ms : 0);
  described.auto_promote = member.auto_promote;
  described.replaces = member.replaces.value;
  described.suspect = member.suspect;
  described.suspect_since = time_of(member.suspect_since_ms);
  return described;
}

std::optional<milliseconds> age_of(const std::optional<std::uint32_t>& ms) {
  return ms ? std::optional(milliseconds{*ms}) : std::nullopt;
}

// The word of the number, up to `last`; `otherwise` for one of a later release.
template <typename Word>
Word word_of(std::uint8_t number, Word last, Word otherwise) {
  return number <= static_cast<std::uint8_t>(last) ? static_cast<Word>(number) : otherwise;
}

MemberSuspicion suspicion_of(const protocol::MemberVerdict& held) {
  MemberSuspicion suspicion;
  suspicion.verdict = word_of(held.verdict, MemberVerdict::Suspect, MemberVerdict::Doubted);
  suspicion.cause = word_of(held.cause, SuspicionCause::Link, SuspicionCause::None);
  suspicion.level = word_of(held.level, FailureLevel::Host, FailureLevel::Node);
  suspicion.phi_milli = held.phi_milli;
  suspicion.since = milliseconds{held.since_ms};
  suspicion.direct = age_of(held.direct_ms);
  suspicion.indirect = age_of(held.indirect_ms);
  return suspicion;
}

MemberSighting sighting_of(const protocol::MemberSight& sight) {
  MemberSighting seen;
  seen.node_id = sight.node.value;
  seen.alive = sight.alive;
  seen.phi_milli = sight.phi_milli;
  seen.heard = age_of(sight.heard_ms);
  seen.epoch = sight.epoch;
  return seen;
}

std::optional<MembershipView> read_view(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_view_answer(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  MembershipView view;
  view.epoch = decoded.value().view.epoch;
  view.newest_epoch = decoded.value().newest;
  for (const protocol::Member& member : decoded.value().view.nodes) {
    view.members.push_back(description_of(member));
  }
  for (const protocol::MemberSight& sight : decoded.value().sights) {
    view.sightings.push_back(sighting_of(sight));
  }
  for (const protocol::MemberVerdict& held : decoded.value().verdicts) {
    const auto seen = std::ranges::find(view.sightings, held.node.value, &MemberSighting::node_id);
    if (seen != view.sightings.end()) {
      seen->suspicion = suspicion_of(held);
    }
  }
  return view;
}

constexpr StateRequest<MembershipView> kView{
    protocol::RequestKind::ViewGet, "the cluster view", "view", read_view};
constexpr StateRequest<MembershipView> kUpdate{
    protocol::RequestKind::MemberUpdate, "the cluster view", "view", read_view};

// A wait in parts that are short enough for a node that answers none to be found silent.
class ViewWait : public std::enable_shared_from_this<ViewWait> {
 public:
  ViewWait(Core& core, const ViewOptions& options, Callback<Result<MembershipView>> callback)
      : core_(core),
        options_(options),
        until_(core.clock().now() + TimePoint{std::max(options.wait, milliseconds{0})}),
        callback_(std::move(callback)) {}

  void ask() {
    const TimePoint left = std::max(until_ - core_.clock().now(), TimePoint{0});
    const TimePoint part = std::min(left, TimePoint{core_.options().request_timeout} / 4);
    const bool next = options_.after.has_value();
    const protocol::ViewQuery query{
        .mode = next ? protocol::ViewQuery::Mode::Next : protocol::ViewQuery::Mode::Newest,
        .after = options_.after.value_or(0),
        .wait_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(
            duration_cast<milliseconds>(part).count(), protocol::kViewWaitMsMax))};
    auto operation =
        node_operation(core_, protocol::RequestKind::ViewGet, NodeId{options_.node_id});
    operation->target = options_.node_id == 0 ? Target::AnyNode : Target::OneNode;
    operation->payload = protocol::text_of(protocol::encode_view_query(query));
    operation->callback = [self = shared_from_this()](const Answer& answer) {
      self->on_answer(answer);
    };
    core_.submit(std::move(operation));
  }

 private:
  void on_answer(const Answer& answer) {
    auto view = kView.outcome_of(answer);
    const bool absent =
        !view.ok() && view.status().detail() == static_cast<std::uint32_t>(ErrorCode::ViewAbsent);
    const bool behind =
        view.ok() && options_.after.has_value() && view.value().epoch <= *options_.after;
    if ((absent || behind) && core_.clock().now() + TimePoint{milliseconds{1}} < until_) {
      return ask();
    }
    callback_(std::move(view));
  }

  Core& core_;
  const ViewOptions options_;
  const TimePoint until_;
  Callback<Result<MembershipView>> callback_;
};

MemberTolerance tolerance_of(const protocol::MemberTolerance& said) {
  return {.votes = said.votes, .alive = said.alive, .needed = said.needed};
}

MemberProgress progress_of(const protocol::MemberMoves& said) {
  return {.epoch = said.epoch,
          .shards = said.shards,
          .led = said.led,
          .settled = said.settled,
          .ready = said.ready};
}

std::optional<ChangedMember> read_changed(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_member_action_answer(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  const protocol::MemberActionAnswer& said = decoded.value();
  ChangedMember changed;
  changed.view.epoch = changed.view.newest_epoch = said.view.epoch;
  for (const protocol::Member& member : said.view.nodes) {
    changed.view.members.push_back(description_of(member));
  }
  changed.node_id = said.node.value;
  changed.token = said.token ? protocol::join_token_text(*said.token) : "";
  changed.token_deadline = time_of(said.deadline_ms);
  changed.before = tolerance_of(said.before);
  changed.after = tolerance_of(said.after);
  changed.progress = progress_of(said.moves);
  changed.handed_over = said.handed_over;
  return changed;
}

std::optional<MemberProgress> read_progress(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_member_moves(payload);
  return decoded.ok() ? std::optional(progress_of(decoded.value())) : std::nullopt;
}

// Labels that a new node can have, by rising key.
Result<std::vector<protocol::MemberLabel>> labels_of(const std::vector<MemberLabel>& labels) {
  std::vector<protocol::MemberLabel> sorted;
  for (const MemberLabel& label : labels) {
    sorted.push_back({label.key, label.value});
  }
  std::ranges::sort(sorted, {}, &protocol::MemberLabel::key);
  return protocol::are_member_labels(sorted)
             ? Result<std::vector<protocol::MemberLabel>>(std::move(sorted))
             : failure(ErrorCode::MemberLabelInvalid, protocol::member_labels_text(sorted));
}

Result<protocol::MemberActionOrder> order_of(const MemberAddition& addition) {
  auto labels = labels_of(addition.labels);
  if (!labels.ok()) {
    return labels.status();
  }
  const auto token_ms =
      static_cast<std::uint64_t>(std::max<std::int64_t>(addition.token_ttl.count(), 0));
  if (token_ms < 1000 || token_ms > protocol::kJoinTokenMsMax) {
    return failure(ErrorCode::OptionInvalid, "a token lasts 1 s to 7 days");
  }
  if (addition.name.size() > protocol::kMemberNameBytesMax) {
    return failure(ErrorCode::MemberNameInvalid, addition.name);
  }
  const bool observes = addition.role == MemberRole::Observer;
  return protocol::MemberActionOrder{.action = protocol::MemberAction::Add,
                                     .dry_run = addition.dry_run,
                                     .force = addition.force,
                                     .expected = addition.view,
                                     .number = drawn_number(),
                                     .node = {},
                                     .replaces = NodeId{addition.replaces},
                                     .weight = observes ? 0 : addition.weight,
                                     .role = static_cast<protocol::MemberRole>(addition.role),
                                     .auto_promote = addition.auto_promote,
                                     .token_ms = token_ms,
                                     .name = addition.name,
                                     .labels = std::move(labels).value(),
                                     .who = addition.who.substr(0, protocol::kMemberWhoBytesMax)};
}

Result<protocol::MemberActionOrder> order_of(const MemberChange& change) {
  const bool known =
      change.action >= MemberAction::Promote && change.action <= MemberAction::MoveLeaders;
  if (!known) {
    return failure(ErrorCode::OptionInvalid, "the action");
  }
  if (change.node_id == 0) {
    return failure(ErrorCode::MemberUnknown, "node 0");
  }
  protocol::MemberActionOrder order;
  order.action = static_cast<protocol::MemberAction>(change.action);
  order.dry_run = change.dry_run;
  order.force = change.force;
  order.expected = change.view;
  order.number = drawn_number();
  order.node = NodeId{change.node_id};
  order.replaces = NodeId{change.action == MemberAction::Promote ? change.replaces : 0};
  order.weight = change.action == MemberAction::Reweigh ? change.weight : 0;
  order.who = change.who.substr(0, protocol::kMemberWhoBytesMax);
  return order;
}

Result<protocol::MemberOrder> order_of(const MemberUpdate& update) {
  protocol::MemberOrder order;
  order.dry_run = update.dry_run;
  order.change.node = NodeId{update.node_id};
  order.change.expected = update.view;
  order.change.number = drawn_number();
  order.change.name = update.name;
  order.change.who = update.who.substr(0, protocol::kMemberWhoBytesMax);
  for (const MemberLabel& label : update.labels) {
    const std::string value = label.value.empty() ? "-" : label.value;
    if (!protocol::is_member_label({label.key, value})) {
      return failure(ErrorCode::MemberLabelInvalid, label.key + "=" + label.value);
    }
    order.change.labels.push_back({label.key, label.value});
  }
  std::ranges::sort(order.change.labels, {}, &protocol::MemberLabel::key);
  const auto twice =
      std::ranges::adjacent_find(order.change.labels, {}, &protocol::MemberLabel::key);
  if (twice != order.change.labels.end()) {
    return failure(ErrorCode::MemberLabelInvalid, twice->key + " is given twice");
  }
  if (order.change.labels.size() > protocol::kMemberLabelChangesMax) {
    return failure(ErrorCode::MemberLabelInvalid, "too many labels in one change");
  }
  if (update.name && !protocol::is_member_name(*update.name, order.change.node)) {
    return failure(ErrorCode::MemberNameInvalid, *update.name);
  }
  return order;
}

std::optional<std::vector<ClusterAlarm>> read_alarms(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_alarm_rows(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  std::vector<ClusterAlarm> alarms;
  for (const protocol::AlarmRow& row : decoded.value()) {
    alarms.push_back({.kind = static_cast<AlarmKind>(row.kind),
                      .node_id = row.node.value,
                      .since = time_of(row.since_ms),
                      .armed = row.armed,
                      .text = row.text});
  }
  return alarms;
}

constexpr const char* kChanges = "changes of members";
constexpr StateRequest<ChangedMember> kChange{
    protocol::RequestKind::MemberChange, kChanges, "member_change", read_changed};
constexpr StateRequest<MemberProgress> kProgress{
    protocol::RequestKind::MemberProgress, kChanges, "member_progress", read_progress};
constexpr StateRequest<std::vector<ClusterAlarm>> kAlarms{
    protocol::RequestKind::MemberAlarms, "alarms", "member_alarms", read_alarms};

void submit_order(Core& core,
                  const Result<protocol::MemberActionOrder>& order,
                  Callback<Result<ChangedMember>> callback) {
  if (!order.ok()) {
    return refuse<Result<ChangedMember>>(core, std::move(callback), order.status());
  }
  const bool moves = order.value().action == protocol::MemberAction::MoveLeaders;
  kChange.submit(
      core,
      {moves ? order.value().node : NodeId{}, protocol::encode_member_action(order.value())},
      std::move(callback));
}

}  // namespace

void view(Core& core, const ViewOptions& options, Callback<Result<MembershipView>> callback) {
  std::make_shared<ViewWait>(core, options, std::move(callback))->ask();
}

void update_member(Core& core,
                   const MemberUpdate& update,
                   Callback<Result<MembershipView>> callback) {
  const auto order = order_of(update);
  if (!order.ok()) {
    return refuse(core, std::move(callback), order.status());
  }
  kUpdate.submit(core, {{}, protocol::encode_member_order(order.value())}, std::move(callback));
}

void add_member(Core& core,
                const MemberAddition& addition,
                Callback<Result<ChangedMember>> callback) {
  submit_order(core, order_of(addition), std::move(callback));
}

void change_member(Core& core,
                   const MemberChange& change,
                   Callback<Result<ChangedMember>> callback) {
  submit_order(core, order_of(change), std::move(callback));
}

void alarms(Core& core,
            const AlarmCall& call,
            Callback<Result<std::vector<ClusterAlarm>>> callback) {
  const AlarmChange& change = call.change;
  protocol::AlarmOrder order;
  order.action = change.disarm ? protocol::AlarmAction::Disarm : protocol::AlarmAction::List;
  if (change.kind) {
    order.kind = static_cast<protocol::AlarmKind>(*change.kind);
  }
  order.node = NodeId{change.about};
  order.who = change.who.substr(0, protocol::kAlarmWhoBytesMax);
  auto operation = node_operation(core, kAlarms.kind, NodeId{call.node_id});
  operation->payload = protocol::text_of(protocol::encode_alarm_order(order));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(kAlarms.outcome_of(answer));
  };
  core.submit(std::move(operation));
}

void member_progress(Core& core, Callback<Result<MemberProgress>> callback) {
  kProgress.submit(core, {}, std::move(callback));
}

}  // namespace gcoord::client

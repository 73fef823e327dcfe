#include "client/members/members.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"
#include "protocol/members/view_messages.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Cluster views are state of this shard.
constexpr std::uint32_t kViewShard = 0;

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
  return described;
}

MemberSighting sighting_of(const protocol::MemberSight& sight) {
  MemberSighting seen;
  seen.node_id = sight.node.value;
  seen.alive = sight.alive;
  seen.phi_milli = sight.phi_milli;
  seen.heard = sight.heard_ms ? std::optional(milliseconds{*sight.heard_ms}) : std::nullopt;
  seen.epoch = sight.epoch;
  return seen;
}

Result<MembershipView> view_of(const Answer& answer) {
  if (answer.status.detail() == static_cast<std::uint32_t>(ErrorCode::KindUnknown)) {
    return failure(ErrorCode::FeatureMissing, "the cluster view");
  }
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto decoded = protocol::decode_view_answer(answer.payload);
  if (!decoded.ok()) {
    return failure(ErrorCode::ReplyMalformed, "view");
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
  return view;
}

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
    auto view = view_of(answer);
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

Result<protocol::MemberOrder> order_of(const MemberUpdate& update) {
  protocol::MemberOrder order;
  order.dry_run = update.dry_run;
  order.change.node = NodeId{update.node_id};
  order.change.expected = update.view;
  order.change.number = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
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
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::MemberUpdate;
  operation->slot.shard = kViewShard;
  operation->payload = protocol::text_of(protocol::encode_member_order(order.value()));
  operation->deadline = core.request_deadline();
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(view_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client

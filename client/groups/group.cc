#include "gcoord/group.h"

#include "client/core/blocking.h"
#include "client/core/client_impl.h"
#include "client/core/session_impl.h"
#include "client/groups/group_feed.h"
#include "client/net/failure.h"
#include "gcoord/client.h"
#include "gcoord/session.h"
#include "protocol/groups/messages.h"
#include "protocol/lock_messages.h"

#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

ErrorCode first_of(std::initializer_list<ErrorCode> codes) {
  for (const ErrorCode code : codes) {
    if (code != ErrorCode::None) {
      return code;
    }
  }
  return ErrorCode::None;
}

ErrorCode check_known(const Core& core, std::string_view name) {
  const ErrorCode code = protocol::check_group_name(name);
  const bool known = core.has(protocol::Feature::Groups);
  return code == ErrorCode::None && !known ? ErrorCode::FeatureMissing : code;
}

// What one of a session's requests to a group was answered.
struct GroupReply {
  Status status;
  protocol::ReplySlot slot;
};

// Never sent under another number: done twice is not the same as once.
OperationPtr request_of(const SessionImpl& session, RequestKind kind, std::string_view name) {
  OperationPtr operation = name_operation(session.core(), kind, name);
  operation->slot.session = session.record().id.value;
  operation->counted = true;
  return operation;
}

GroupReply ask(const std::shared_ptr<SessionImpl>& session, OperationPtr operation) {
  operation->session = session->shared_record();
  GroupReply reply;
  reply.status = await<Status>(session->core(), [&](auto callback) {
    operation->callback = [callback, &reply](const Answer& answer) {
      reply.slot = answer.slot;
      callback(answer.status);
    };
    session->core().submit(std::move(operation));
  });
  return reply;
}

}  // namespace

GroupViews::GroupViews(const Client& client, std::string_view name)
    : feed_(std::make_shared<GroupFeed>(client.impl_->core(), name)) {}

GroupViews::~GroupViews() {
  if (feed_ != nullptr) {
    feed_->stop();
  }
}

GroupViews::GroupViews(GroupViews&&) noexcept = default;

GroupViews& GroupViews::operator=(GroupViews&& other) noexcept {
  GroupViews taken{std::move(other)};
  std::swap(feed_, taken.feed_);
  return *this;
}

Result<GroupView> GroupViews::now() {
  return await<Result<GroupView>>(feed_->core(), [&](auto callback) { feed_->now(callback); });
}

Result<GroupView> GroupViews::next(std::chrono::milliseconds wait) {
  return feed_->next(wait);
}

void GroupViews::on_view(std::function<void(const Result<GroupView>&)> callback) {
  feed_->begin(std::move(callback));
}

void GroupViews::stop() {
  feed_->stop();
}

Group::Group(const Session& session, std::string_view name)
    : session_(session.impl_), name_(name) {}

Group::~Group() = default;
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;

const std::string& Group::name() const {
  return name_;
}

Result<GroupMembership> Group::join(std::string_view id, std::string_view payload) {
  const ErrorCode code = first_of({check_known(session_->core(), name_),
                                   protocol::check_member_id(id),
                                   protocol::check_member_payload(payload)});
  if (code != ErrorCode::None) {
    return failure(code);
  }
  OperationPtr operation = request_of(*session_, RequestKind::GroupJoin, name_);
  operation->slot.ttl_ms = session_->record().ttl_ms;
  operation->payload = protocol::text_of(protocol::encode_group_join({name_, id, payload}));
  const GroupReply reply = ask(session_, std::move(operation));
  if (!reply.status.ok()) {
    return reply.status;
  }
  return GroupMembership{.epoch = reply.slot.token,
                         .rank = static_cast<std::uint32_t>(reply.slot.extra)};
}

Status Group::leave() {
  if (const ErrorCode code = check_known(session_->core(), name_); code != ErrorCode::None) {
    return failure(code);
  }
  return ask(session_, request_of(*session_, RequestKind::GroupLeave, name_)).status;
}

Status Group::update(std::string_view payload) {
  const ErrorCode code =
      first_of({check_known(session_->core(), name_), protocol::check_member_payload(payload)});
  if (code != ErrorCode::None) {
    return failure(code);
  }
  OperationPtr operation = request_of(*session_, RequestKind::GroupUpdate, name_);
  operation->payload = protocol::text_of(protocol::encode_group_update({name_, payload}));
  return ask(session_, std::move(operation)).status;
}

Status Group::barrier(BarrierOptions options) {
  const ErrorCode code =
      first_of({check_known(session_->core(), name_), protocol::check_barrier_size(options.size)});
  if (code != ErrorCode::None) {
    return failure(code);
  }
  OperationPtr operation = request_of(*session_, RequestKind::GroupBarrier, name_);
  operation->slot.ttl_ms = session_->record().ttl_ms;
  operation->slot.set(protocol::RequestFlag::Wait);
  operation->wait_until = session_->core().clock().now() + TimePoint{options.timeout};
  operation->deadline += TimePoint{options.timeout};
  operation->payload = protocol::text_of(protocol::encode_group_arrival({options.size, name_}));
  return ask(session_, std::move(operation)).status;
}

}  // namespace gcoord::client

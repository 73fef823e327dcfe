#include "gcoord/group.h"

#include "client/api/client_impl.h"
#include "client/core/acquire_request.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/groups/group_feed.h"
#include "client/groups/requests.h"
#include "client/net/failure.h"
#include "gcoord/client.h"
#include "gcoord/session.h"
#include "protocol/groups/messages.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

using Joined = Result<GroupMembership>;

ErrorCode check_known(const Core& core, std::string_view name) {
  return check_feature(core, protocol::Feature::Groups, protocol::check_group_name(name));
}

std::function<void(const Answer&)> telling_status(Callback<Status> callback) {
  return [callback = std::move(callback)](const Answer& answer) { callback(answer.status); };
}

// Whose part in which group.
struct Party {
  const std::shared_ptr<SessionImpl>& session;
  const std::string& name;

  Core& core() const { return session->core(); }
};

void start_join(const Party& party, const GroupMember& member, Callback<Joined> callback) {
  const ErrorCode code = first_of({check_known(party.core(), party.name),
                                   protocol::check_member_id(member.id),
                                   protocol::check_member_payload(member.payload)});
  if (code != ErrorCode::None) {
    return refuse<Joined>(party.core(), std::move(callback), failure(code));
  }
  OperationPtr operation = group_request(*party.session, RequestKind::GroupJoin, party.name);
  operation->slot.ttl_ms = party.session->record().ttl_ms;
  operation->payload =
      protocol::text_of(protocol::encode_group_join({party.name, member.id, member.payload}));
  send_request(
      party.session, std::move(operation), [callback = std::move(callback)](const Answer& answer) {
        if (!answer.status.ok()) {
          return callback(answer.status);
        }
        callback(GroupMembership{.epoch = answer.slot.token,
                                 .rank = static_cast<std::uint32_t>(answer.slot.extra)});
      });
}

void start_leave(const Party& party, Callback<Status> callback) {
  if (const ErrorCode code = check_known(party.core(), party.name); code != ErrorCode::None) {
    return refuse<Status>(party.core(), std::move(callback), failure(code));
  }
  send_request(party.session,
               group_request(*party.session, RequestKind::GroupLeave, party.name),
               telling_status(std::move(callback)));
}

void start_update(const Party& party, std::string_view payload, Callback<Status> callback) {
  const ErrorCode code =
      first_of({check_known(party.core(), party.name), protocol::check_member_payload(payload)});
  if (code != ErrorCode::None) {
    return refuse<Status>(party.core(), std::move(callback), failure(code));
  }
  OperationPtr operation = group_request(*party.session, RequestKind::GroupUpdate, party.name);
  operation->payload = protocol::text_of(protocol::encode_group_update({party.name, payload}));
  send_request(party.session, std::move(operation), telling_status(std::move(callback)));
}

void start_barrier(const Party& party, BarrierOptions options, Callback<Status> callback) {
  const ErrorCode code = first_of({check_known(party.core(), party.name),
                                   protocol::check_barrier_size(options.size),
                                   protocol::check_wait(protocol_ms(options.timeout))});
  if (code != ErrorCode::None) {
    return refuse<Status>(party.core(), std::move(callback), failure(code));
  }
  OperationPtr operation = group_request(*party.session, RequestKind::GroupBarrier, party.name);
  let_wait(*party.session, *operation, options.timeout);
  operation->payload =
      protocol::text_of(protocol::encode_group_arrival({options.size, party.name}));
  send_request(party.session, std::move(operation), telling_status(std::move(callback)));
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

Future<Result<GroupView>> GroupViews::now_async() {
  return future_of<Result<GroupView>>(feed_->core(), [&](auto callback) { feed_->now(callback); });
}

Result<GroupView> GroupViews::next(std::chrono::milliseconds wait) {
  return await<Result<GroupView>>(feed_->core(),
                                  [&](auto callback) { feed_->next(wait, callback); });
}

Future<Result<GroupView>> GroupViews::next_async(std::chrono::milliseconds wait) {
  return future_of<Result<GroupView>>(feed_->core(),
                                      [&](auto callback) { feed_->next(wait, callback); });
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
  const GroupMember member{.id = std::string{id}, .payload = std::string{payload}};
  return await<Joined>(session_->core(), [&](auto callback) {
    start_join({session_, name_}, member, callback);
  });
}

Future<Result<GroupMembership>> Group::join_async(std::string_view id, std::string_view payload) {
  const GroupMember member{.id = std::string{id}, .payload = std::string{payload}};
  return future_of<Joined>(session_->core(), [&](auto callback) {
    start_join({session_, name_}, member, callback);
  });
}

Status Group::leave() {
  return await<Status>(session_->core(), [&](auto callback) {
    start_leave({session_, name_}, callback);
  });
}

Future<Status> Group::leave_async() {
  return future_of<Status>(session_->core(), [&](auto callback) {
    start_leave({session_, name_}, callback);
  });
}

Status Group::update(std::string_view payload) {
  return await<Status>(session_->core(), [&](auto callback) {
    start_update({session_, name_}, payload, callback);
  });
}

Future<Status> Group::update_async(std::string_view payload) {
  return future_of<Status>(session_->core(), [&](auto callback) {
    start_update({session_, name_}, payload, callback);
  });
}

Status Group::barrier(BarrierOptions options) {
  return await<Status>(session_->core(), [&](auto callback) {
    start_barrier({session_, name_}, options, callback);
  });
}

Future<Status> Group::barrier_async(BarrierOptions options) {
  return future_of<Status>(session_->core(), [&](auto callback) {
    start_barrier({session_, name_}, options, callback);
  });
}

}  // namespace gcoord::client

// The calls of Client about the cluster view.
#include "client/core/blocking.h"
#include "client/core/client_impl.h"
#include "client/core/future_of.h"
#include "client/members/members.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::client {

Result<MembershipView> Client::view(const ViewOptions& options) {
  return await<Result<MembershipView>>(*impl_->core(), [&](auto callback) {
    client::view(*impl_->core(), options, std::move(callback));
  });
}

Future<Result<MembershipView>> Client::view_async(const ViewOptions& options) {
  return future_of<Result<MembershipView>>(*impl_->core(), [&](auto callback) {
    client::view(*impl_->core(), options, std::move(callback));
  });
}

Result<MembershipView> Client::update_member(const MemberUpdate& update) {
  return await<Result<MembershipView>>(*impl_->core(), [&](auto callback) {
    client::update_member(*impl_->core(), update, std::move(callback));
  });
}

Future<Result<MembershipView>> Client::update_member_async(const MemberUpdate& update) {
  return future_of<Result<MembershipView>>(*impl_->core(), [&](auto callback) {
    client::update_member(*impl_->core(), update, std::move(callback));
  });
}

Result<ChangedMember> Client::add_member(const MemberAddition& addition) {
  return await<Result<ChangedMember>>(*impl_->core(), [&](auto callback) {
    client::add_member(*impl_->core(), addition, std::move(callback));
  });
}

Future<Result<ChangedMember>> Client::add_member_async(const MemberAddition& addition) {
  return future_of<Result<ChangedMember>>(*impl_->core(), [&](auto callback) {
    client::add_member(*impl_->core(), addition, std::move(callback));
  });
}

Result<ChangedMember> Client::change_member(const MemberChange& change) {
  return await<Result<ChangedMember>>(*impl_->core(), [&](auto callback) {
    client::change_member(*impl_->core(), change, std::move(callback));
  });
}

Future<Result<ChangedMember>> Client::change_member_async(const MemberChange& change) {
  return future_of<Result<ChangedMember>>(*impl_->core(), [&](auto callback) {
    client::change_member(*impl_->core(), change, std::move(callback));
  });
}

Result<MemberProgress> Client::member_progress() {
  return await<Result<MemberProgress>>(*impl_->core(), [&](auto callback) {
    client::member_progress(*impl_->core(), std::move(callback));
  });
}

Future<Result<MemberProgress>> Client::member_progress_async() {
  return future_of<Result<MemberProgress>>(*impl_->core(), [&](auto callback) {
    client::member_progress(*impl_->core(), std::move(callback));
  });
}

Result<std::vector<ClusterAlarm>> Client::alarms(std::uint32_t node_id, const AlarmChange& change) {
  return await<Result<std::vector<ClusterAlarm>>>(*impl_->core(), [&](auto callback) {
    client::alarms(*impl_->core(), {node_id, change}, std::move(callback));
  });
}

Future<Result<std::vector<ClusterAlarm>>> Client::alarms_async(std::uint32_t node_id,
                                                               const AlarmChange& change) {
  return future_of<Result<std::vector<ClusterAlarm>>>(*impl_->core(), [&](auto callback) {
    client::alarms(*impl_->core(), {node_id, change}, std::move(callback));
  });
}

}  // namespace gcoord::client

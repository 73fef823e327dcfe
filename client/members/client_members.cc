// The calls of Client about the nodes of the cluster.
#include "client/api/client_impl.h"
#include "client/core/future_of.h"
#include "client/members/members.h"

namespace gcoord::client {

Result<MembershipView> Client::view(const ViewOptions& options) {
  return blocking<client::view>(*impl_->core(), options);
}

Future<Result<MembershipView>> Client::view_async(const ViewOptions& options) {
  return in_future<client::view>(*impl_->core(), options);
}

Result<MembershipView> Client::update_member(const MemberUpdate& update) {
  return blocking<client::update_member>(*impl_->core(), update);
}

Future<Result<MembershipView>> Client::update_member_async(const MemberUpdate& update) {
  return in_future<client::update_member>(*impl_->core(), update);
}

Result<ChangedMember> Client::add_member(const MemberAddition& addition) {
  return blocking<client::add_member>(*impl_->core(), addition);
}

Future<Result<ChangedMember>> Client::add_member_async(const MemberAddition& addition) {
  return in_future<client::add_member>(*impl_->core(), addition);
}

Result<ChangedMember> Client::change_member(const MemberChange& change) {
  return blocking<client::change_member>(*impl_->core(), change);
}

Future<Result<ChangedMember>> Client::change_member_async(const MemberChange& change) {
  return in_future<client::change_member>(*impl_->core(), change);
}

Result<MemberProgress> Client::member_progress() {
  return blocking<client::member_progress>(*impl_->core());
}

Future<Result<MemberProgress>> Client::member_progress_async() {
  return in_future<client::member_progress>(*impl_->core());
}

Result<std::vector<ClusterAlarm>> Client::alarms(std::uint32_t node_id, const AlarmChange& change) {
  return blocking<client::alarms>(*impl_->core(), AlarmCall{node_id, change});
}

Future<Result<std::vector<ClusterAlarm>>> Client::alarms_async(std::uint32_t node_id,
                                                               const AlarmChange& change) {
  return in_future<client::alarms>(*impl_->core(), AlarmCall{node_id, change});
}

}  // namespace gcoord::client

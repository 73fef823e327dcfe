// Elections as a client sees them that stands in none: who leads, who waits, and who is to follow.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/elections/election_calls.h"
#include "client/elections/leader_stream.h"
#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "protocol/validate.h"

#include <string>
#include <utility>

namespace gcoord::client {

namespace {

Result<Leader> leader_of(const Result<LockDescription>& lock) {
  const bool absent =
      lock.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent);
  if (absent || (lock.ok() && lock.value().holder_session == 0)) {
    return failure(protocol::ErrorCode::ElectionVacant);
  }
  if (!lock.ok()) {
    return lock.status();
  }
  return Leader{.session_id = lock.value().holder_session,
                .epoch = lock.value().token,
                .ttl_left = lock.value().ttl_left,
                .candidates_waiting = lock.value().waiter_count,
                .value = lock.value().note,
                .hidden = lock.value().hidden};
}

void find_leader(Core& core, std::string_view name, const Callback<Result<Leader>>& callback) {
  client::get(core, name, false, [callback](const Result<LockDescription>& lock) {
    callback(leader_of(lock));
  });
}

}  // namespace

Result<Leader> Client::leader(std::string_view name) {
  return await<Result<Leader>>(*impl_->core(), [&](auto callback) {
    find_leader(*impl_->core(), name, std::move(callback));
  });
}

Future<Result<Leader>> Client::leader_async(std::string_view name) {
  return future_of<Result<Leader>>(*impl_->core(), [&](auto callback) {
    find_leader(*impl_->core(), name, std::move(callback));
  });
}

Result<LeaderStream> Client::observe(std::string_view name) {
  if (const auto code = protocol::check_name(name); code != protocol::ErrorCode::None) {
    return failure(code);
  }
  const auto watch = [watches = impl_->watches(), held = std::string{name}] {
    return watches->open(WatchOptions{.name = held, .kinds = {EventKind::Granted}}, {});
  };
  const auto look = [core = impl_->core(), held = std::string{name}] {
    return await<Result<LockDescription>>(
        *core, [&](auto callback) { client::get(*core, held, false, std::move(callback)); });
  };
  auto impl = std::make_unique<LeaderStream::Impl>(LeaderStream::Impl::Environment{watch, look});
  if (const Status begun = impl->begin(); !begun.ok()) {
    return begun;
  }
  return LeaderStream{std::move(impl)};
}

Result<ElectionView> Client::candidates(std::string_view name) {
  return await<Result<ElectionView>>(*impl_->core(), [&](auto callback) {
    client::candidates(*impl_->core(), name, std::move(callback));
  });
}

Future<Result<ElectionView>> Client::candidates_async(std::string_view name) {
  return future_of<Result<ElectionView>>(*impl_->core(), [&](auto callback) {
    client::candidates(*impl_->core(), name, std::move(callback));
  });
}

Future<Status> Client::ask_transfer_async(std::string_view name,
                                          std::uint64_t session_id,
                                          std::uint64_t epoch) {
  return future_of<Status>(*impl_->core(), [&](auto callback) {
    client::ask_transfer(*impl_->core(), name, {session_id, epoch}, std::move(callback));
  });
}

Status Client::ask_transfer(std::string_view name, std::uint64_t session_id, std::uint64_t epoch) {
  return await<Status>(*impl_->core(), [&](auto callback) {
    client::ask_transfer(*impl_->core(), name, {session_id, epoch}, std::move(callback));
  });
}

}  // namespace gcoord::client

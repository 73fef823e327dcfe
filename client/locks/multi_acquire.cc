#include "client/locks/multi_acquire.h"

#include "client/core/calls.h"
#include "client/net/failure.h"
#include "common/name_hash.h"
#include "gcoord/multi_lock.h"
#include "protocol/validate.h"

#include <algorithm>
#include <tuple>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

// Where a name stands in the order.
std::tuple<std::uint32_t, std::uint64_t, std::uint64_t> rank_of(const Core& core,
                                                                const std::string& name) {
  const NameHash hash = hash_name(name);
  return {shard_of_name(core, name).value, hash.high, hash.low};
}

protocol::ErrorCode check_list(const std::vector<std::string>& sorted) {
  const bool good = !sorted.empty() && sorted.size() <= kMultiLockNamesMax &&
                    std::ranges::adjacent_find(sorted) == sorted.end();
  auto code = good ? protocol::ErrorCode::None : protocol::ErrorCode::NamesInvalid;
  for (const std::string& name : sorted) {
    code = code == protocol::ErrorCode::None ? protocol::check_new_name(name) : code;
  }
  return code;
}

}  // namespace

void MultiAcquire::start(std::shared_ptr<SessionImpl> session,
                         std::vector<std::string> names,
                         const AcquireOptions& options,
                         GrantsCallback callback) {
  Core& core = session->core();
  std::ranges::sort(names, {}, [&core](const std::string& name) { return rank_of(core, name); });
  if (const auto code = check_list(names); code != protocol::ErrorCode::None) {
    return refuse<Result<Grants>>(core, std::move(callback), failure(code));
  }
  const auto self = std::make_shared<MultiAcquire>();
  self->session_ = std::move(session);
  self->names_ = std::move(names);
  self->options_ = options;
  self->note_ = options.note;
  self->options_.note = self->note_;
  if (options.stop != nullptr) {
    self->stop_ = *options.stop;
    self->options_.stop = &self->stop_;
  }
  self->callback_ = std::move(callback);
  if (options.wait != kForever) {
    self->deadline_ = core.clock().now() + TimePoint{options.wait};
  }
  self->next();
}

void MultiAcquire::next() {
  if (taken_.size() == names_.size()) {
    return callback_(std::move(taken_));
  }
  AcquireOptions how = options_;
  if (how.wait != kForever && how.wait > milliseconds{0} && !taken_.empty()) {
    // What is left for all of them; at least 1, since somebody who waits stays one.
    const TimePoint left = deadline_ - session_->core().clock().now();
    how.wait = std::max(std::chrono::ceil<milliseconds>(left), milliseconds{1});
  }
  session_->acquire(
      names_[taken_.size()], how, [self = shared_from_this()](const Result<Grant>& grant) {
        self->on_grant(grant);
      });
}

void MultiAcquire::on_grant(const Result<Grant>& grant) {
  if (!grant.ok()) {
    return give_back(grant.status());
  }
  taken_.emplace_back(names_[taken_.size()], grant.value());
  next();
}

// What the session held before stays its own. An answer that does not come changes nothing: it ends
// with the session then.
void MultiAcquire::give_back(const Status& why) {
  const auto outstanding = std::make_shared<std::size_t>(1);  // One for the loop itself.
  const auto released = [self = shared_from_this(), outstanding, why](const Status&) {
    if (--*outstanding == 0) {
      self->callback_(why);
    }
  };
  for (auto each = taken_.rbegin(); each != taken_.rend(); ++each) {
    if (!each->second.already_held) {
      ++*outstanding;
      session_->release(each->first, each->second.token, released);
    }
  }
  released({});
}

}  // namespace gcoord::client

#include "client/elections/leader_stream.h"

#include "client/net/failure.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

bool is(const Status& status, protocol::ErrorCode code) {
  return status.detail() == static_cast<std::uint32_t>(code);
}

}  // namespace

// The watch first: who comes to lead after the look is then told by it, and perhaps by both.
Status LeaderStream::Impl::begin() {
  auto watch = environment_.watch();
  if (!watch.ok()) {
    return watch.status();
  }
  {
    const std::lock_guard lock(mutex_);
    watch_ = std::make_shared<Watch>(std::move(watch).value());
    if (closed_) {
      watch_->close();
    }
  }
  const auto lock = environment_.look();
  if (lock.ok() && lock.value().holder_session != 0) {
    offer({.session_id = lock.value().holder_session,
           .epoch = lock.value().token,
           .value = lock.value().note,
           .hidden = lock.value().hidden});
    return {};
  }
  return lock.ok() || is(lock.status(), protocol::ErrorCode::LockAbsent) ? Status{} : lock.status();
}

void LeaderStream::Impl::offer(Office office) {
  if (office.hidden || office.epoch > epoch_) {
    epoch_ = std::max(epoch_, office.epoch);
    ready_.push_back(std::move(office));
  }
}

void LeaderStream::Impl::take(const WatchBatch& batch) {
  for (const WatchEvent& event : batch.events) {
    if (event.kind == EventKind::Granted) {
      offer({.session_id = event.session_id,
             .epoch = event.token,
             .value = event.value,
             .hidden = event.hidden});
    }
  }
}

Result<std::optional<LeaderStream::Office>> LeaderStream::Impl::next(
    std::optional<std::chrono::milliseconds> timeout) {
  constexpr std::chrono::hours kYear{24 * 365};  // As WatchState::take.
  const auto until = std::chrono::steady_clock::now() +
                     std::min<std::chrono::milliseconds>(timeout.value_or(kYear), kYear);
  while (ready_.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    Result<std::optional<WatchBatch>> batch{std::optional<WatchBatch>{}};
    if (timeout) {
      batch = watch_->next(std::max(left, std::chrono::milliseconds{0}));
    } else if (auto one = watch_->next(); one.ok()) {
      batch = std::optional{std::move(one).value()};
    } else {
      batch = one.status();
    }
    if (is(batch.status(), protocol::ErrorCode::WatchCompacted)) {
      // What came in between is gone; who leads now is not.
      if (const Status begun = begin(); !begun.ok()) {
        return begun;
      }
    } else if (!batch.ok()) {
      return batch.status();
    } else if (!batch.value()) {
      return std::optional<Office>{};
    } else {
      take(*batch.value());
    }
  }
  Office office = std::move(ready_.front());
  ready_.pop_front();
  return std::optional{std::move(office)};
}

void LeaderStream::Impl::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (watch_ != nullptr) {
    watch_->close();
  }
}

LeaderStream::LeaderStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LeaderStream::~LeaderStream() = default;
LeaderStream::LeaderStream(LeaderStream&&) noexcept = default;
LeaderStream& LeaderStream::operator=(LeaderStream&&) noexcept = default;

Result<LeaderStream::Office> LeaderStream::next() {
  auto office = impl_->next(std::nullopt);
  if (!office.ok()) {
    return office.status();
  }
  return std::move(*std::move(office).value());
}

Result<std::optional<LeaderStream::Office>> LeaderStream::next(std::chrono::milliseconds timeout) {
  return impl_->next(timeout);
}

void LeaderStream::close() {
  impl_->close();
}

}  // namespace gcoord::client

#include "cli/top/name_watch.h"

#include <utility>

namespace gcoord::cli::top {

namespace {

constexpr std::chrono::seconds kAgainAfter{5};

}  // namespace

client::Status NameWatch::begin() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = false;
  }
  auto watch = client_.watch({.prefix = "", .waiters = true},
                             [this](const auto& batch) { on_watch(batch); });
  if (!watch.ok()) {
    end_with(watch.status());
    return watch.status();
  }
  watch_.emplace(std::move(watch).value());
  const std::lock_guard lock(mutex_);
  error_ = ended_ ? error_ : std::string{};
  return {};
}

void NameWatch::keep() {
  const Moment now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (!ended_ || now < again_at_) {
      return;
    }
  }
  again_at_ = now + kAgainAfter;
  worker_.start([this] {
    watch_.reset();
    static_cast<void>(begin());  // error() has its failure.
  });
}

std::string NameWatch::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void NameWatch::on_watch(const client::Result<client::WatchBatch>& batch) {
  if (!batch.ok()) {
    return end_with(batch.status());
  }
  const auto since = std::chrono::steady_clock::now() - zero_;
  const auto since_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  heat_.count(batch.value());
  changes_.note(batch.value(), static_cast<std::uint64_t>(since_ms));
}

void NameWatch::end_with(const client::Status& status) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  error_ = status.to_string();
}

}  // namespace gcoord::cli::top

#include "cli/top/samples/hot_names.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli::top {

namespace {

std::uint64_t changes(const HotNames::Name& name) {
  return name.grants + name.waits;
}

}  // namespace

void HotNames::count(const client::WatchBatch& batch) {
  const std::lock_guard lock(mutex_);
  for (const client::WatchEvent& event : batch.events) {
    const bool granted = event.kind == client::EventKind::Granted;
    const bool waits = event.kind == client::EventKind::Waiting;
    expiries_ += event.kind == client::EventKind::Expired ? 1 : 0;
    if (granted || waits) {
      Name& name = names_[event.name];
      name.name = event.name;
      name.shard = batch.shard;
      name.grants += granted ? 1 : 0;
      name.waits += waits ? 1 : 0;
      grants_ += granted ? 1 : 0;
    }
  }
  if (names_.size() > kHeatNamesMax) {
    forget_coldest();
  }
}

void HotNames::forget_coldest() {
  std::vector<std::uint64_t> counts;
  for (const auto& [text, name] : names_) {
    counts.push_back(changes(name));
  }
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  std::size_t left = names_.size() / 2;  // Among equals, some must go.
  std::erase_if(names_, [&](const auto& each) {
    const bool cold = changes(each.second) <= *middle && left > 0;
    left -= cold ? 1 : 0;
    return cold;
  });
}

HotNames::Sample HotNames::take(std::size_t names_max) {
  const std::lock_guard lock(mutex_);
  Sample look{
      .grants = std::exchange(grants_, 0), .expiries = std::exchange(expiries_, 0), .hottest = {}};
  for (auto& [text, name] : std::exchange(names_, {})) {
    look.hottest.push_back(std::move(name));
  }
  std::ranges::sort(look.hottest, [](const Name& a, const Name& b) {
    return std::pair(changes(b), a.name) < std::pair(changes(a), b.name);
  });
  look.hottest.resize(std::min(names_max, look.hottest.size()));
  return look;
}

}  // namespace gcoord::cli::top

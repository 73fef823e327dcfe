#include "server/watch_target.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::server {

using rpc::WatchEventKind;
using rpc::WatchTarget;

bool WatchFilter::wants(WatchEventKind kind) const {
  if (kinds != 0) {
    return (kinds & rpc::watch_kind_bit(kind)) != 0;
  }
  return queue || (kind != WatchEventKind::Waiting && kind != WatchEventKind::Left);
}

bool WatchFilter::matches(const rpc::WatchEvent& event) const {
  if (!wants(event.kind)) {
    return false;
  }
  switch (target) {
    case WatchTarget::Name:
      return event.name == text;
    case WatchTarget::Prefix:
      return event.name.starts_with(text);
    case WatchTarget::Session:
      return event.session == session;
  }
  return false;
}

rpc::WatchBlock WatchFilter::filtered(const rpc::WatchBlock& block) const {
  rpc::WatchBlock result{block.shard, block.revision, {}};
  if (covers(block.shard)) {
    std::ranges::copy_if(block.events, std::back_inserter(result.events), [this](const auto& each) {
      return matches(each);
    });
  }
  return result;
}

WatchRecord WatchFilter::filtered(const WatchRecord& record) const {
  const bool moves = follows && record.move && record.move->name == text && covers(record.shard);
  const bool comes = moves && !record.move->left;
  if (arrival != 0 && !(comes && record.move->number == arrival)) {
    return {{record.shard, record.revision, {}}};
  }
  WatchRecord result{filtered(static_cast<const rpc::WatchBlock&>(record))};
  if (moves) {
    result.move = record.move;
  }
  if (comes) {
    std::erase_if(result.events, [&](const rpc::WatchEvent& event) {
      return event.kind == WatchEventKind::Granted && event.token == record.move->carried;
    });
  }
  return result;
}

std::vector<WatchTargetState*>& WatchTargets::place_of(const WatchFilter& filter) {
  switch (filter.target) {
    case WatchTarget::Prefix:
      return prefixes_[filter.text];
    case WatchTarget::Session:
      return sessions_[filter.session.value];
    case WatchTarget::Name:
      break;
  }
  return names_[filter.text];
}

WatchTargetState& WatchTargets::add(const WatchFilter& filter) {
  auto& target = all_[filter.key()];
  if (target == nullptr) {
    target = std::make_unique<WatchTargetState>();
    target->filter = filter;
    place_of(filter).push_back(target.get());
    if (filter.target == WatchTarget::Prefix) {
      ++prefix_lengths_[filter.text.size()];
    }
  }
  ++target->watch_count;
  return *target;
}

void WatchTargets::drop(WatchTargetState& target) {
  GCOORD_ASSERT(target.watch_count > 0);
  --target.watch_count;
  if (target.watch_count != 0) {
    return;
  }
  const WatchFilter filter = target.filter;
  auto& place = place_of(filter);
  std::erase(place, &target);
  const bool last = place.empty();
  if (filter.target == WatchTarget::Prefix) {
    const auto length = prefix_lengths_.find(filter.text.size());
    --length->second;
    if (length->second == 0) {
      prefix_lengths_.erase(length);
    }
  }
  if (last && filter.target == WatchTarget::Session) {
    sessions_.erase(filter.session.value);
  } else if (last) {
    (filter.target == WatchTarget::Name ? names_ : prefixes_).erase(filter.text);
  }
  all_.erase(filter.key());
}

void WatchTargets::mark(std::span<WatchTargetState* const> targets, std::uint64_t number) {
  for (WatchTargetState* const target : targets) {
    if (target->marked != number + 1) {
      target->marked = number + 1;
      concerned_.push_back(target);
    }
  }
}

void WatchTargets::look_up(const ByText& map, std::string_view text, std::uint64_t number) {
  if (const auto found = map.find(text); found != map.end()) {
    mark(found->second, number);
  }
}

std::span<WatchTargetState* const> WatchTargets::concerned(const WatchRecord& record,
                                                           std::uint64_t number) {
  concerned_.clear();
  if (record.move) {
    look_up(names_, record.move->name, number);
  }
  for (const rpc::WatchEvent& event : record.events) {
    const std::string_view name = event.name;
    look_up(names_, name, number);
    for (const auto& [length, count] : prefix_lengths_) {
      if (length > name.size()) {
        break;
      }
      look_up(prefixes_, name.substr(0, length), number);
    }
    if (const auto found = sessions_.find(event.session.value); found != sessions_.end()) {
      mark(found->second, number);
    }
  }
  return concerned_;
}

}  // namespace gcoord::server

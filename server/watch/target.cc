#include "server/watch/target.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::server {

using protocol::WatchEventKind;
using protocol::WatchTarget;

namespace {

protocol::WatchEvent event_of(const WatchChange& change) {
  return {.kind = change.kind,
          .name = change.name,
          .token = change.token,
          .session = change.session,
          .value = std::string{change.value()}};
}

protocol::WatchPrevious hold_of(const WatchChange& change) {
  return {protocol::WatchBefore::Hold, change.token, change.session, std::string{change.before()}};
}

// Whose place a grant took. If nobody's, the lock came with this hold, or was free for it.
protocol::WatchPrevious replaced_by(const WatchRecord& record, const WatchChange& grant) {
  if (grant.replaces != 0) {
    GCOORD_ASSERT(&grant - record.changes.data() >= grant.replaces);
    return hold_of(*(&grant - grant.replaces));
  }
  const bool comes = record.move && !record.move->left && record.move->name == grant.name &&
                     record.move->carried == grant.token;
  return comes ? hold_of(grant) : protocol::WatchPrevious{.before = protocol::WatchBefore::Nothing};
}

// `change` is one of the record's.
protocol::WatchPrevious previous_of(const WatchRecord& record, const WatchChange& change) {
  if (change.kind == WatchEventKind::Granted) {
    return replaced_by(record, change);
  }
  return protocol::tells_own_hold(change.kind)
             ? hold_of(change)
             : protocol::WatchPrevious{.before = protocol::WatchBefore::Nothing};
}

}  // namespace

bool WatchFilter::wants(WatchEventKind kind) const {
  if (kinds != 0) {
    return (kinds & protocol::watch_kind_bit(kind)) != 0;
  }
  return queue || (kind != WatchEventKind::Waiting && kind != WatchEventKind::Left);
}

bool WatchFilter::matches(WatchEventKind kind, std::string_view name, SessionId by) const {
  if (!wants(kind)) {
    return false;
  }
  switch (target) {
    case WatchTarget::Name:
      return name == text;
    case WatchTarget::Prefix:
      return name.starts_with(text);
    case WatchTarget::Session:
      return by == session;
  }
  return false;
}

WatchNotice WatchFilter::filtered(const WatchRecord& record) const {
  WatchNotice told{{record.shard, record.revision, {}}};
  const bool moves = follows && record.move && record.move->name == text && covers(record.shard);
  const bool comes = moves && !record.move->left;
  if (!covers(record.shard) || (arrival != 0 && !(comes && record.move->number == arrival))) {
    return told;
  }
  for (const WatchChange& change : record.changes) {
    const bool carried =
        comes && change.kind == WatchEventKind::Granted && change.token == record.move->carried;
    if (!carried && matches(change.kind, change.name, change.session)) {
      told.events.push_back(event_of(change));
      if (previous) {
        told.events.back().previous = previous_of(record, change);
      }
    }
  }
  if (moves) {
    told.move = record.move;
  }
  return told;
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
  for (const WatchChange& change : record.changes) {
    const std::string_view name = change.name;
    look_up(names_, name, number);
    for (const auto& [length, count] : prefix_lengths_) {
      if (length > name.size()) {
        break;
      }
      look_up(prefixes_, name.substr(0, length), number);
    }
    if (const auto found = sessions_.find(change.session.value); found != sessions_.end()) {
      mark(found->second, number);
    }
  }
  return concerned_;
}

}  // namespace gcoord::server

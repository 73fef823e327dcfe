#include "server/ingress/prepared_requests.h"

#include "locks/commands/entry_writer.h"
#include "server/ingress/lock_command.h"

namespace gcoord::server {

void PreparedRequests::clear() {
  places_.clear();
  frame_first_.clear();
  requests_.clear();
  of_requests_.clear();
  entries_.clear();
  frame_next_ = 0;
  slot_first_ = 0;
  slot_end_ = 0;
}

void PreparedRequests::add(const protocol::FrameView& frame) {
  if (!rules_.has_value()) {
    return;
  }
  frame_first_.push_back(static_cast<std::uint32_t>(places_.size()));
  protocol::RequestSlot copy;
  for (std::size_t k = 0; k < frame.slot_count() && requests_.size() < kPreparedMax; ++k) {
    const protocol::RequestSlot& slot = frame.request(k, copy);
    if (is_plain_lock_request(slot.kind)) {
      prepare(slot, frame.payload(slot));
      places_.push_back({static_cast<std::uint32_t>(requests_.size())});
    } else {
      places_.push_back({});
    }
  }
}

void PreparedRequests::prepare(const protocol::RequestSlot& slot,
                               std::span<const std::byte> payload) {
  PreparedRequest prepared;
  prepared.error = protocol::check_request(slot, payload, rules_->limits);
  Entries entries;
  if (prepared.error == protocol::ErrorCode::None) {
    prepared.command = lock_command(slot, payload);
    const bool fits = locks::piece_count(prepared.command.name_bytes) <= kPreparedPieces;
    if (rules_->entries) {
      prepared.way = fits ? IngressWay::Prepared : IngressWay::LongName;
      entries = fits ? write_entries(prepared.command) : entries;
    }
  }
  requests_.push_back(prepared);
  of_requests_.push_back(entries);
}

PreparedRequests::Entries PreparedRequests::write_entries(const locks::LockCommand& command) {
  const auto first = static_cast<std::uint32_t>(entries_.size());
  locks::for_each_entry(command,
                        [this](const locks::LockEntry& entry) { entries_.push_back(entry); });
  return {first, static_cast<std::uint32_t>(entries_.size()) - first};
}

// Only now, since the entries moved while there came more of them.
void PreparedRequests::seal() {
  for (std::size_t k = 0; k < requests_.size(); ++k) {
    const Entries& entries = of_requests_[k];
    requests_[k].entries = std::span{entries_}.subspan(entries.first, entries.count);
  }
}

void PreparedRequests::next_frame() {
  const bool known = frame_next_ < frame_first_.size();
  slot_first_ = known ? frame_first_[frame_next_] : places_.size();
  ++frame_next_;
  slot_end_ = frame_next_ < frame_first_.size() ? frame_first_[frame_next_] : places_.size();
}

const PreparedRequest* PreparedRequests::at(std::size_t slot) const {
  if (slot >= slot_end_ - slot_first_) {
    return nullptr;
  }
  const std::uint32_t request = places_[slot_first_ + slot].request;
  return request == 0 ? nullptr : &requests_[request - 1];
}

std::size_t PreparedRequests::memory_bytes() const {
  return places_.capacity() * sizeof(Place) + frame_first_.capacity() * sizeof(std::uint32_t) +
         requests_.capacity() * sizeof(PreparedRequest) +
         of_requests_.capacity() * sizeof(Entries) + entries_.capacity() * sizeof(locks::LockEntry);
}

void PreparedRequests::shrink() {
  if (places_.capacity() > kPreparedKept) {
    release();
  } else {
    clear();
  }
}

void PreparedRequests::release() {
  *this = PreparedRequests{std::optional<IngressRules>{rules_}};
}

}  // namespace gcoord::server

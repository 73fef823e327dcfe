#include "server/replicas/active.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

RowWork& ActiveRows::touch(std::uint32_t row) {
  std::uint32_t& number = work_of_row_[row];
  if (number == 0) {
    if (free_works_.empty()) {
      works_.emplace_back();
      free_works_.push_back(static_cast<std::uint32_t>(works_.size()));
    }
    number = free_works_.back();
    free_works_.pop_back();
    works_[number - 1].row = row;
  }
  RowWork& work = works_[number - 1];
  if (!work.listed) {
    work.listed = true;
    next_.push_back(row);
  }
  return work;
}

RowWork* ActiveRows::find(std::uint32_t row) {
  const std::uint32_t number = work_of_row_[row];
  return number == 0 ? nullptr : &works_[number - 1];
}

bool ActiveRows::add_message(std::uint32_t row,
                             const consensus::Message& message,
                             std::span<const std::byte> extent) {
  if (messages_.size() >= messages_max() || extents_.size() + extent.size() > extent_bytes_max()) {
    return false;
  }
  RowWork& work = touch(row);
  messages_.push_back({.message = message,
                       .extent_offset = static_cast<std::uint32_t>(extents_.size()),
                       .extent_bytes = static_cast<std::uint32_t>(extent.size())});
  extents_.insert(extents_.end(), extent.begin(), extent.end());
  extent_bytes_left_ += extent.size();
  const auto number = static_cast<std::uint32_t>(messages_.size());
  if (work.message_first == 0) {
    work.message_first = number;
  } else {
    messages_[work.message_last - 1].next = number;
  }
  work.message_last = number;
  ++messages_left_;
  return true;
}

std::uint32_t ActiveRows::take_message(RowWork& work) {
  GCOORD_ASSERT(work.message_first != 0);
  const std::uint32_t number = work.message_first;
  work.message_first = message(number).next;
  --messages_left_;
  extent_bytes_left_ -= message(number).extent_bytes;
  return number;
}

void ActiveRows::put_snapshot(std::uint32_t row, std::unique_ptr<ArrivedSnapshot> snapshot) {
  RowWork& work = touch(row);
  snapshots_waiting_ += work.snapshot ? 0 : 1;
  work.snapshot = std::move(snapshot);
}

std::unique_ptr<ArrivedSnapshot> ActiveRows::take_snapshot(RowWork& work) {
  GCOORD_ASSERT(work.snapshot && snapshots_waiting_ > 0);
  --snapshots_waiting_;
  return std::move(work.snapshot);
}

void ActiveRows::add_proposal(std::uint32_t row, EntryBlock* block) {
  RowWork& work = touch(row);
  block->next = nullptr;
  if (work.proposal_first == nullptr) {
    work.proposal_first = block;
  } else {
    work.proposal_last->next = block;
  }
  work.proposal_last = block;
  ++work.proposal_count;
}

void ActiveRows::add_read(std::uint32_t row,
                          std::uint64_t cookie,
                          std::uint64_t turn,
                          ReadMode way) {
  RowWork& work = touch(row);
  if (!work.reads) {
    work.reads = std::make_unique<RowReads>();
  }
  work.reads->add(cookie, turn, way);
}

void ActiveRows::begin_turn() {
  now_.erase(now_.begin(), now_.begin() + static_cast<std::ptrdiff_t>(now_taken_));
  now_taken_ = 0;
  for (const std::uint32_t row : next_) {
    RowWork& work = *find(row);
    work.listed = false;
    if (!work.due) {
      work.due = true;
      now_.push_back(row);
    }
  }
  next_.clear();
}

void ActiveRows::take_batch(std::vector<std::uint32_t>& rows, std::size_t row_count) {
  const std::size_t taken = std::min(row_count, now_.size() - now_taken_);
  const auto first = now_.begin() + static_cast<std::ptrdiff_t>(now_taken_);
  rows.assign(first, first + static_cast<std::ptrdiff_t>(taken));
  now_taken_ += taken;
  for (const std::uint32_t row : rows) {
    find(row)->due = false;
  }
}

void ActiveRows::put_back(std::uint32_t row) {
  RowWork& work = *find(row);
  GCOORD_ASSERT(!work.due);
  work.due = true;
  now_.push_back(row);
}

void ActiveRows::release_if_idle(std::uint32_t row) {
  RowWork* work = find(row);
  if (work == nullptr || work->listed || work->due || !work->idle()) {
    return;
  }
  *work = RowWork{};
  free_works_.push_back(work_of_row_[row]);
  work_of_row_[row] = 0;
}

void ActiveRows::end_turn() {
  if (messages_left_ == 0) {
    messages_.clear();
    extents_.clear();
    return;
  }
  const bool long_list =
      messages_.size() > messages_max() / 8 && messages_.size() > 3 * messages_left_ / 2;
  const bool many_bytes =
      extents_.size() > extent_bytes_max() / 8 && extents_.size() > 4 * extent_bytes_left_;
  if (long_list || many_bytes) {
    keep_messages_left();
  }
}

bool ActiveRows::shrink() {
  const bool idle = !waiting() && messages_left_ == 0 && free_works_.size() == works_.size();
  if (!idle || works_.size() <= kWorksKept / parts_) {
    return false;
  }
  works_.clear();
  works_.shrink_to_fit();
  free_works_ = {};
  next_ = {};
  now_ = {};
  now_taken_ = 0;
  messages_ = {};
  extents_ = {};
  return true;
}

// Moves what is left to the front, in the order of each row.
void ActiveRows::keep_messages_left() {
  std::vector<QueuedMessage> left;
  std::vector<std::byte> left_extents;
  for (RowWork& work : works_) {
    std::uint32_t number = std::exchange(work.message_first, 0);
    for (; number != 0; number = message(number).next) {
      QueuedMessage moved = message(number);
      const auto bytes = extent(moved);
      moved.extent_offset = static_cast<std::uint32_t>(left_extents.size());
      left_extents.insert(left_extents.end(), bytes.begin(), bytes.end());
      moved.next = 0;
      left.push_back(moved);
      const auto moved_number = static_cast<std::uint32_t>(left.size());
      if (work.message_first == 0) {
        work.message_first = moved_number;
      } else {
        left[work.message_last - 1].next = moved_number;
      }
      work.message_last = moved_number;
    }
  }
  GCOORD_ASSERT(left.size() == messages_left_);
  messages_.swap(left);
  extents_.swap(left_extents);
}

}  // namespace gcoord::server

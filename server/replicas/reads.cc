#include "server/replicas/reads.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

bool RowReads::wants_round_before(std::uint64_t turn) const {
  return std::any_of(fresh_.begin(), fresh_.end(), [turn](const Fresh& read) {
    return read.turn < turn && read.way == ReadMode::Round;
  });
}

std::vector<std::uint64_t> RowReads::take_fresh(std::uint64_t turn) {
  std::vector<std::uint64_t> cookies;
  const auto end = std::find_if(
      fresh_.begin(), fresh_.end(), [turn](const Fresh& read) { return read.turn >= turn; });
  for (auto read = fresh_.begin(); read != end; ++read) {
    cookies.push_back(read->cookie);
  }
  fresh_.erase(fresh_.begin(), end);
  return cookies;
}

std::vector<std::uint64_t> RowReads::take_fresh_by_lease(std::uint64_t turn) {
  std::vector<std::uint64_t> cookies;
  std::erase_if(fresh_, [&](const Fresh& read) {
    const bool taken = read.turn < turn && read.way == ReadMode::Lease;
    if (taken) {
      cookies.push_back(read.cookie);
    }
    return taken;
  });
  return cookies;
}

void RowReads::open_round(std::uint64_t sequence, std::vector<std::uint64_t> cookies) {
  GCOORD_ASSERT(round_sequence_ == 0);
  GCOORD_ASSERT(sequence != 0);
  round_sequence_ = sequence;
  round_ = std::move(cookies);
}

std::vector<std::uint64_t> RowReads::close_round(std::uint64_t sequence) {
  if (round_sequence_ == 0 || round_sequence_ != sequence) {
    return {};
  }
  round_sequence_ = 0;
  return std::exchange(round_, {});
}

void RowReads::await(LogIndex index, const std::vector<std::uint64_t>& cookies) {
  for (const std::uint64_t cookie : cookies) {
    indexed_.push_back({index, cookie});
  }
}

std::vector<std::uint64_t> RowReads::take_applied(LogIndex applied) {
  std::vector<std::uint64_t> cookies;
  std::erase_if(indexed_, [&](const Indexed& read) {
    const bool ready = read.index <= applied;
    if (ready) {
      cookies.push_back(read.cookie);
    }
    return ready;
  });
  return cookies;
}

std::vector<std::uint64_t> RowReads::take_lost() {
  std::vector<std::uint64_t> cookies = std::exchange(round_, {});
  round_sequence_ = 0;
  for (const Indexed& read : indexed_) {
    cookies.push_back(read.cookie);
  }
  indexed_.clear();
  return cookies;
}

}  // namespace gcoord::server

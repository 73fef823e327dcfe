#include "server/replicas/entry_log.h"

#include "common/assert.h"
#include "common/device/prefetch.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// A chain that grew beyond this gives its list back when it is closed; smaller ones keep it warm.
constexpr std::size_t kWarmCapacity = 16;

}  // namespace

EntryLog::EntryLog(EntryPool& pool, std::uint32_t row_count)
    : pool_(pool), chain_of_row_(row_count, 0) {}

EntryLog::~EntryLog() = default;  // The pool's slabs take the blocks with them.

void EntryLog::put(std::uint32_t row, LogIndex index, EntryBlock* block) {
  truncate(row, index);
  Chain* chain = chain_of(row);
  if (chain == nullptr && block == nullptr) {
    return;
  }
  if (block == nullptr) {
    block = pool_.make(consensus::EntryKind::Noop, {});
  }
  if (chain == nullptr) {
    chain = &open_chain(row, index);
  }
  GCOORD_ASSERT(index == chain->first + chain->size());
  block->next = nullptr;
  chain->blocks.push_back(block);
}

EntryBlock* EntryLog::find(std::uint32_t row, LogIndex index) const {
  const Chain* chain = chain_of(row);
  if (chain == nullptr || index < chain->first) {
    return nullptr;
  }
  GCOORD_ASSERT(index - chain->first < chain->size());
  return chain->blocks[chain->head + (index - chain->first)];
}

void EntryLog::want(std::uint32_t row, LogIndex index, std::uint32_t part) const {
  if (part == 0) {
    return prefetch(&chain_of_row_[row]);
  }
  const Chain* chain = chain_of(row);
  if (chain == nullptr) {
    return;
  }
  if (part == 1) {
    return prefetch(chain);
  }
  const std::uint64_t place = chain->head + (index - chain->first);
  if (index < chain->first || place >= chain->blocks.size()) {
    return;
  }
  if (part == 2) {
    return prefetch(&chain->blocks[place]);
  }
  const EntryBlock* block = chain->blocks[place];
  prefetch(block);
  prefetch(block + 2);  // The second line of most.
}

void EntryLog::truncate(std::uint32_t row, LogIndex from) {
  Chain* chain = chain_of(row);
  if (chain == nullptr) {
    return;
  }
  while (chain->size() > 0 && chain->first + (chain->size() - 1) >= from) {
    pool_.release(chain->blocks.back());
    chain->blocks.pop_back();
  }
  if (chain->size() == 0) {
    close_chain(row);
  }
}

void EntryLog::compact(std::uint32_t row, LogIndex through) {
  Chain* chain = chain_of(row);
  if (chain == nullptr) {
    return;
  }
  while (chain->size() > 0 && chain->first <= through) {
    pool_.release(chain->blocks[chain->head++]);
    ++chain->first;
  }
  if (chain->size() == 0) {
    close_chain(row);
  } else if (chain->head > chain->size()) {
    chain->blocks.erase(chain->blocks.begin(),
                        chain->blocks.begin() + static_cast<std::ptrdiff_t>(chain->head));
    chain->head = 0;
  }
}

void EntryLog::clear(std::uint32_t row) {
  truncate(row, LogIndex{0});
}

std::size_t EntryLog::held(std::uint32_t row) const {
  const Chain* chain = chain_of(row);
  return chain == nullptr ? 0 : chain->size();
}

EntryLog::Chain* EntryLog::chain_of(std::uint32_t row) {
  const std::uint32_t number = chain_of_row_[row];
  return number == 0 ? nullptr : &chains_[number - 1];
}

const EntryLog::Chain* EntryLog::chain_of(std::uint32_t row) const {
  const std::uint32_t number = chain_of_row_[row];
  return number == 0 ? nullptr : &chains_[number - 1];
}

EntryLog::Chain& EntryLog::open_chain(std::uint32_t row, LogIndex first) {
  if (free_chains_.empty()) {
    chains_.emplace_back();
    free_chains_.push_back(static_cast<std::uint32_t>(chains_.size()));
  }
  chain_of_row_[row] = free_chains_.back();
  free_chains_.pop_back();
  Chain& chain = *chain_of(row);
  GCOORD_ASSERT(chain.blocks.empty());
  chain.first = first;
  return chain;
}

void EntryLog::close_chain(std::uint32_t row) {
  Chain& chain = *chain_of(row);
  chain.head = 0;
  chain.blocks.clear();
  if (chain.blocks.capacity() > kWarmCapacity) {
    chain.blocks.shrink_to_fit();
  }
  free_chains_.push_back(std::exchange(chain_of_row_[row], 0));
}

}  // namespace gcoord::server

#include "chaos/check/linear_cache.h"

#include "common/random.h"

#include <algorithm>

namespace gcoord::chaos {

namespace {

constexpr std::size_t kHeadWords = 2;  // Next, hash.
constexpr std::size_t kTableStart = 1024;

}  // namespace

LinearCache::LinearCache(const ConfigurationShape& shape)
    : shape_(shape),
      record_words_(kHeadWords + 1 + shape.set_words + shape.state_words + shape.used_words),
      table_(kTableStart, 0) {}

std::uint64_t* LinearCache::record(std::uint64_t index) {
  return records_.data() + index * record_words_;
}

std::uint64_t LinearCache::hash_of(const ConfigurationKey& configuration) const {
  std::uint64_t hash = mix64(configuration.event);
  for (std::size_t word = 0; word < shape_.set_words; ++word) {
    hash = mix64(hash ^ configuration.set[word]);
  }
  for (std::size_t word = 0; word < shape_.state_words; ++word) {
    hash = mix64(hash ^ configuration.state[word]);
  }
  return hash;
}

bool LinearCache::same_key(const std::uint64_t* stored, const ConfigurationKey& wanted) const {
  const std::uint64_t* set = stored + kHeadWords + 1;
  const std::uint64_t* state = set + shape_.set_words;
  return stored[kHeadWords] == wanted.event &&
         std::equal(set, set + shape_.set_words, wanted.set) &&
         std::equal(state, state + shape_.state_words, wanted.state);
}

// Whether what the stored one used up is a part of what the wanted one did.
bool LinearCache::covers(const std::uint64_t* stored, const ConfigurationKey& wanted) const {
  const std::uint64_t* used = stored + kHeadWords + 1 + shape_.set_words + shape_.state_words;
  for (std::size_t word = 0; word < shape_.used_words; ++word) {
    if ((used[word] & ~wanted.used[word]) != 0) {
      return false;
    }
  }
  return true;
}

std::uint64_t LinearCache::append(const ConfigurationKey& configuration, std::uint64_t hash) {
  records_.push_back(0);
  records_.push_back(hash);
  records_.push_back(configuration.event);
  records_.insert(records_.end(), configuration.set, configuration.set + shape_.set_words);
  records_.insert(records_.end(), configuration.state, configuration.state + shape_.state_words);
  records_.insert(records_.end(), configuration.used, configuration.used + shape_.used_words);
  return count_++;
}

bool LinearCache::insert(const ConfigurationKey& configuration) {
  const std::uint64_t hash = hash_of(configuration);
  std::size_t place = hash & (table_.size() - 1);
  while (table_[place] != 0 && !same_key(record(table_[place] - 1), configuration)) {
    place = (place + 1) & (table_.size() - 1);
  }
  for (std::uint64_t at = table_[place]; at != 0; at = record(at - 1)[0]) {
    if (covers(record(at - 1), configuration)) {
      return false;
    }
  }
  const std::uint64_t head = table_[place];
  const std::uint64_t index = append(configuration, hash);
  record(index)[0] = head;
  table_[place] = index + 1;
  key_count_ += head == 0 ? 1 : 0;
  if (key_count_ * 2 > table_.size()) {
    grow();
  }
  return true;
}

void LinearCache::grow() {
  std::vector<std::uint64_t> old(table_.size() * 2, 0);
  old.swap(table_);
  for (const std::uint64_t head : old) {
    if (head == 0) {
      continue;
    }
    std::size_t place = record(head - 1)[1] & (table_.size() - 1);
    while (table_[place] != 0) {
      place = (place + 1) & (table_.size() - 1);
    }
    table_[place] = head;
  }
}

std::uint64_t LinearCache::bytes() const {
  return (records_.capacity() + table_.capacity()) * sizeof(std::uint64_t);
}

}  // namespace gcoord::chaos

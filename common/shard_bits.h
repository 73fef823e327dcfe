// A set of shards, one bit each, that is walked word by word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class ShardBits {
 public:
  explicit ShardBits(std::uint32_t shard_count)
      : shard_count_(shard_count), words_((std::size_t{shard_count} + 63) / 64, 0) {}

  void set(std::uint32_t shard) { words_[shard / 64] |= std::uint64_t{1} << shard % 64; }

  void reset(std::uint32_t shard) { words_[shard / 64] &= ~(std::uint64_t{1} << shard % 64); }

  bool test(std::uint32_t shard) const { return (words_[shard / 64] >> shard % 64 & 1) != 0; }

  void clear() { words_.assign(words_.size(), 0); }

  void swap(ShardBits& other) { words_.swap(other.words_); }

  // Adds all of the other set.
  void unite(const ShardBits& other) {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      words_[word] |= other.words_[word];
    }
  }

  bool any() const {
    for (const std::uint64_t word : words_) {
      if (word != 0) {
        return true;
      }
    }
    return false;
  }

  // The first shard at or above `from` that is in this set or in the other; shard count if none.
  std::uint32_t next_in_either(const ShardBits& other, std::uint32_t from) const {
    for (std::size_t word = from / 64; word < words_.size(); ++word) {
      std::uint64_t bits = words_[word] | other.words_[word];
      if (word == from / 64) {
        bits &= ~std::uint64_t{0} << from % 64;
      }
      if (bits != 0) {
        return static_cast<std::uint32_t>(word * 64) +
               static_cast<std::uint32_t>(std::countr_zero(bits));
      }
    }
    return shard_count_;
  }

 private:
  std::uint32_t shard_count_;
  std::vector<std::uint64_t> words_;
};

}  // namespace gcoord::server

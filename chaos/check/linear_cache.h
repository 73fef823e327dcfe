// Configurations of a search that were met: Lowe's cache, with one more rule.
//
// A configuration is (next return, slots in order, state) and the set of open operations that were
// used up on the way. Of two with one key the one that used fewer can do all that the other can,
// since open operations need not happen; so one that used a superset is as good as met.
// Flat memory that only grows; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::chaos {

struct ConfigurationKey {
  std::uint64_t event = 0;
  const std::uint64_t* set = nullptr;
  const std::uint64_t* state = nullptr;
  const std::uint64_t* used = nullptr;
};

// How many words each part has; the next return is one.
struct ConfigurationShape {
  std::size_t set_words = 0;
  std::size_t state_words = 0;
  std::size_t used_words = 0;
};

class LinearCache {
 public:
  explicit LinearCache(const ConfigurationShape& shape);

  // False when it, or one that can do all that it can, was there.
  bool insert(const ConfigurationKey& configuration);

  std::uint64_t bytes() const;

 private:
  // A record: index + 1 of the next with the same key, its hash, then the parts.
  std::uint64_t* record(std::uint64_t index);
  bool same_key(const std::uint64_t* stored, const ConfigurationKey& wanted) const;
  bool covers(const std::uint64_t* stored, const ConfigurationKey& wanted) const;
  std::uint64_t append(const ConfigurationKey& configuration, std::uint64_t hash);
  std::uint64_t hash_of(const ConfigurationKey& configuration) const;
  void grow();

  ConfigurationShape shape_;
  std::size_t record_words_ = 0;
  std::uint64_t count_ = 0;      // Of records.
  std::uint64_t key_count_ = 0;  // Of different keys.
  std::vector<std::uint64_t> records_;
  std::vector<std::uint64_t> table_;  // Open addressing: index + 1 of a key's first record.
};

}  // namespace gcoord::chaos

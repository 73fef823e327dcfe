// A lock guards a store, and the store guards itself: it refuses whoever comes with an old token.
//
// A lock alone cannot stop a program that was paused past its lease and then goes on writing. The
// fencing token can, if it goes along with every write.
#include "example.h"

#include <algorithm>
#include <cstdint>

namespace {

// What your storage does: it keeps the highest token it has seen.
class GuardedStore {
 public:
  bool write(std::uint64_t fence, int value) {
    if (fence < highest_) {
      return false;
    }
    highest_ = std::max(highest_, fence);
    value_ = value;
    return true;
  }

  int value() const { return value_; }

 private:
  std::uint64_t highest_ = 0;
  int value_ = 0;
};

}  // namespace

int main() {
  auto client = example::connect();
  GuardedStore store;

  auto first_session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  auto first = example::value_of(first_session.acquire("examples/store"));
  const std::uint64_t old_fence = first.fence();
  example::expect(store.write(first.fence(), 1), "the holder writes");
  example::expect(first.release().ok(), "the lock is given back");

  auto second_session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  auto second = example::value_of(second_session.acquire("examples/store"));
  example::expect(second.fence() > old_fence, "tokens rise with every holder");
  example::expect(store.write(second.fence(), 2), "the next holder writes");

  // The first one wakes up late and believes that it still holds the lock.
  example::expect(!store.write(old_fence, 3), "a late write is refused");
  example::expect(store.value() == 2, "the store is as the second holder left it");
  std::printf("tokens %llu and %llu: the late write was refused\n",
              static_cast<unsigned long long>(old_fence),
              static_cast<unsigned long long>(second.fence()));
  return 0;
}

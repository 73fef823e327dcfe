#include "chaos/demo/guarded_store.h"

#include "chaos/process/shared_page.h"
#include "common/assert.h"

namespace gcoord::chaos {

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "several processes share it");
constexpr std::size_t kBytes = GuardedStore::kPlaces * sizeof(std::atomic<std::uint64_t>);

}  // namespace

Result<std::unique_ptr<GuardedStore>> GuardedStore::open(const std::filesystem::path& file) {
  GCOORD_TRY(void* page, map_shared_page(file, kBytes));
  return std::unique_ptr<GuardedStore>{
      new GuardedStore{static_cast<std::atomic<std::uint64_t>*>(page)}};
}

GuardedStore::~GuardedStore() {
  unmap_shared_page(tokens_, kBytes);
}

bool GuardedStore::write(std::uint32_t place, std::uint64_t token) {
  GCOORD_ASSERT(place < kPlaces);
  std::uint64_t highest = tokens_[place].load();
  while (highest <= token) {
    if (tokens_[place].compare_exchange_weak(highest, token)) {
      return true;
    }
  }
  return false;
}

}  // namespace gcoord::chaos

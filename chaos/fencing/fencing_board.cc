#include "chaos/fencing/fencing_board.h"

#include "chaos/process/shared_page.h"

namespace gcoord::chaos {

static_assert(std::atomic<bool>::is_always_lock_free, "several processes share it");

Result<std::unique_ptr<FencingBoard>> FencingBoard::open(const std::filesystem::path& file) {
  GCOORD_TRY(void* page, map_shared_page(file, sizeof(Page)));
  return std::unique_ptr<FencingBoard>{new FencingBoard{static_cast<Page*>(page)}};
}

FencingBoard::~FencingBoard() {
  unmap_shared_page(page_, sizeof(Page));
}

}  // namespace gcoord::chaos

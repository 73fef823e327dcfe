// Paths of tiles as somebody who is not trusted may ask for them.
#include "ledger/merkle/memory_tree.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <string>

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::ledger;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  static MemoryTree tree;
  while (tree.size() < 300) {
    tree.append({});
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes), byte_count);
  const auto path = parse_tile_path(text);
  if (path.ok()) {
    GCOORD_ASSERT(to_string(path.value()) == text);
    const auto tile = tile_at(tree, path.value());
    GCOORD_ASSERT(!tile.ok() || tile.value().size() <= tile_bytes_max(path.value()));
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  for (const std::string& seed : {std::string{"tile/0/000"},
                                  std::string{"tile/1/x234/067.p/12"},
                                  std::string{"tile/entries/001.p/44"}}) {
    seeds.emplace_back(seed.begin(), seed.end());
  }
  return seeds;
}

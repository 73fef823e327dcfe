// A log whose only tile somebody may have changed: whatever is read is what was hashed.
#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/tiles/tile_reader.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <cstring>
#include <string>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::ledger;  // NOLINT

constexpr std::uint32_t kEntries = 9;

const MemoryTree& tree() {
  static MemoryTree built;
  while (built.size() < kEntries) {
    const auto entry = static_cast<std::byte>(built.size());
    built.append({&entry, 1});
  }
  return built;
}

FuzzInput file_of(TilePath::Kind kind) {
  const auto bytes = tile_at(tree(), {.kind = kind, .width = kEntries}).value();
  FuzzInput file(bytes.size());
  std::memcpy(file.data(), bytes.data(), bytes.size());
  return file;
}

// The same bytes for every path.
class OneFile final : public TileSource {
 public:
  explicit OneFile(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}

  Result<std::vector<std::byte>> read(const std::string&, std::size_t bytes_max) const override {
    if (bytes_.size() > bytes_max) {
      return Status{StatusCode::DataLoss, "", kLedgerOversized};
    }
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  static const MerkleHash root = root_at(tree(), kEntries).value();
  const OneFile file(std::as_bytes(std::span(bytes, byte_count)));
  const auto reader = TileReader::open(file, kEntries, root);
  if (reader.ok()) {
    GCOORD_ASSERT(reader.value()->hashes(0, 0, kEntries).value() ==
                  tree().hashes(0, 0, kEntries).value());
    GCOORD_ASSERT(!reader.value()->entries(0, 1).ok());  // A tile is no bundle.
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  return {file_of(TilePath::Kind::Hashes), file_of(TilePath::Kind::Entries)};
}

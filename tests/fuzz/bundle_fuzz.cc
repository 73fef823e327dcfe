// Entry bundles as somebody who is not trusted may serve them: a width, then the bundle.
#include "ledger/tiles/tlog_tiles.h"
#include "tests/fuzz/fuzz_test_main.h"

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::ledger;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  if (byte_count == 0) {
    return 0;
  }
  const std::span<const std::byte> bundle = std::as_bytes(std::span(bytes + 1, byte_count - 1));
  const auto entries = decode_bundle(bundle, bytes[0] + 1u);
  if (entries.ok()) {
    const auto again = encode_bundle(entries.value()).value();
    GCOORD_ASSERT(std::equal(again.begin(), again.end(), bundle.begin(), bundle.end()));
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  return {{0, 0, 0}, {1, 0, 2, 7, 7, 0, 1, 9}, {2, 0, 0, 0, 0, 0, 3, 1, 2, 3}};
}

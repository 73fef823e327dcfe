// The texts of checkpoints as somebody who is not trusted may write them.
#include "ledger/notes/checkpoint_note.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <string>

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::ledger;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), byte_count);
  const auto checkpoint = parse_checkpoint_text(text);
  GCOORD_ASSERT(!checkpoint.ok() || checkpoint_text(checkpoint.value()) == text);
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::string text = checkpoint_text(
      {.origin = "gcoord/1/shard/2", .size = 1ull << 40, .root = {}, .extensions = {"x", "y z"}});
  return {FuzzInput(text.begin(), text.end())};
}

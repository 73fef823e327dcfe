// Signed notes as somebody who is not trusted may write them.
#include "ledger/notes/checkpoint_note.h"
#include "ledger/notes/signed_note.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <string>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::ledger;  // NOLINT

NoteSigner signer_of(unsigned char seed) {
  NoteSeed bytes{};
  bytes.fill(static_cast<std::byte>(seed));
  return NoteSigner::make("fuzz/" + std::to_string(seed), bytes).value();
}

std::string signed_text() {
  return checkpoint_text({.origin = "gcoord/1", .size = 77, .root = {}, .extensions = {"x"}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  static const std::vector<NoteKey> keys = {signer_of(1).key(), signer_of(2).key()};
  const std::string_view text(reinterpret_cast<const char*>(bytes), byte_count);
  const auto note = parse_note(text);
  if (note.ok()) {
    // A note has one spelling, and nobody but the keys' owners signs another text.
    GCOORD_ASSERT(print_note(note.value()) == text);
    const auto signers = verify_note(note.value(), keys, 1);
    GCOORD_ASSERT(!signers.ok() || note.value().text == signed_text());
  }
  static_cast<void>(NoteKey::parse(text).ok());
  static_cast<void>(NoteSigner::parse(text).ok());
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  SignedNote note{.text = signed_text()};
  note.signatures = {sign_note(signer_of(1), note.text), sign_note(signer_of(2), note.text)};
  std::vector<FuzzInput> seeds;
  for (const std::string& seed :
       {print_note(note), signer_of(1).key().text(), signer_of(2).secret_text()}) {
    seeds.emplace_back(seed.begin(), seed.end());
  }
  return seeds;
}

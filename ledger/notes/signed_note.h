// Signed notes: a text, and who signed it (C2SP signed-note; what Go's sumdb/note reads).
//
//   text, one or more lines, each ended by a newline
//   an empty line
//   — NAME BASE64(4 bytes of key id || signature)      one or more of these
//
// The text may have empty lines itself: the last one divides. A note is UTF-8 without control
// characters other than newline, and has one spelling: print_note() of what parse_note() read is
// what it read. Notes come from who is not trusted; nothing of a text is to be believed before
// verify_note() said ok. Signatures of keys that the reader does not know say nothing and are
// passed over. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/notes/note_key.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::size_t kNoteBytesMax = 64 << 10;  // A checkpoint has some hundred.
inline constexpr std::size_t kNoteSignaturesMax = 100;  // As many as Go reads.

struct NoteSignature {
  std::string name;  // Of the key.
  std::uint32_t key_id = 0;
  std::vector<std::byte> bytes;  // 64 for Ed25519; what other algorithms say otherwise.
};

struct SignedNote {
  std::string text;  // With the newline that ends it.
  std::vector<NoteSignature> signatures;
};

// kNoteOversized, or kNoteMalformed with the line that is none of a note.
Result<SignedNote> parse_note(std::string_view bytes);

std::string print_note(const SignedNote& note);

// The text must be one: not empty, ended by a newline, without control characters.
NoteSignature sign_note(const NoteSigner& signer, std::string_view text);

// The places in `keys` of the keys that signed, in rising order; at least `quorum`, which is at
// least 1. Every signature by a key that is given must hold: kNoteSignature, with its name, if one
// does not. kNoteForeign if none of the keys signed, kNoteQuorum if too few. A key that is given
// twice counts once.
Result<std::vector<std::size_t>> verify_note(const SignedNote& note,
                                             std::span<const NoteKey> keys,
                                             std::size_t quorum);

}  // namespace gcoord::ledger

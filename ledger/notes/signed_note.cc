#include "ledger/notes/signed_note.h"

#include "common/assert.h"
#include "common/base64.h"
#include "common/utf8.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <array>
#include <optional>

namespace gcoord::ledger {
namespace {

constexpr std::string_view kDash = "\u2014 ";
constexpr std::size_t kKeyIdBytes = 4;
constexpr std::size_t kShown = 80;

Status refuse(std::uint32_t detail, const std::string& why) {
  return Status{StatusCode::DataLoss, why, detail};
}

bool is_control(char letter) {
  return letter >= 0 && letter < ' ' && letter != '\n';
}

Status check_letters(std::string_view bytes) {
  if (bytes.size() > kNoteBytesMax) {
    return refuse(kNoteOversized,
                  "the note has " + std::to_string(bytes.size()) + " bytes, the most is " +
                      std::to_string(kNoteBytesMax));
  }
  const auto control = std::find_if(bytes.begin(), bytes.end(), is_control);
  if (control != bytes.end()) {
    return refuse(kNoteMalformed,
                  "byte " + std::to_string(control - bytes.begin()) + " is a control character");
  }
  return utf8_well_formed(bytes) ? Status{} : refuse(kNoteMalformed, "the note is not UTF-8");
}

std::optional<NoteSignature> signature_of(std::string_view line) {
  if (!line.starts_with(kDash)) {
    return std::nullopt;
  }
  line.remove_prefix(kDash.size());
  const std::size_t space = line.find(' ');
  if (space == line.npos || !note_name_valid(line.substr(0, space))) {
    return std::nullopt;
  }
  const auto bytes = from_base64(line.substr(space + 1));
  if (!bytes || bytes->size() <= kKeyIdBytes) {
    return std::nullopt;
  }
  NoteSignature signature{.name = std::string{line.substr(0, space)}};
  for (std::size_t i = 0; i < kKeyIdBytes; ++i) {
    signature.key_id = signature.key_id << 8 | std::to_integer<std::uint32_t>((*bytes)[i]);
  }
  signature.bytes.assign(bytes->begin() + kKeyIdBytes, bytes->end());
  return signature;
}

std::vector<std::byte> tagged(const NoteSignature& signature) {
  std::vector<std::byte> bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::byte>(signature.key_id >> shift));
  }
  bytes.insert(bytes.end(), signature.bytes.begin(), signature.bytes.end());
  return bytes;
}

}  // namespace

Result<SignedNote> parse_note(std::string_view bytes) {
  GCOORD_TRY_STATUS(check_letters(bytes));
  const std::size_t empty_line = bytes.rfind("\n\n");
  if (empty_line == bytes.npos || !bytes.ends_with('\n')) {
    return refuse(kNoteMalformed, "no empty line divides a text from signatures");
  }
  SignedNote note{.text = std::string{bytes.substr(0, empty_line + 1)}};
  std::string_view rest = bytes.substr(empty_line + 2);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const auto signature = signature_of(line);
    if (!signature) {
      return refuse(kNoteMalformed,
                    "signature " + std::to_string(note.signatures.size() + 1) +
                        " is not a signature: '" + std::string{line.substr(0, kShown)} + "'");
    }
    if (note.signatures.size() == kNoteSignaturesMax) {
      return refuse(kNoteOversized,
                    "the note has more than " + std::to_string(kNoteSignaturesMax) + " signatures");
    }
    note.signatures.push_back(*signature);
  }
  if (note.signatures.empty()) {
    return refuse(kNoteMalformed, "the note has no signature");
  }
  return note;
}

std::string print_note(const SignedNote& note) {
  std::string bytes = note.text + "\n";
  for (const NoteSignature& signature : note.signatures) {
    bytes += std::string{kDash} + signature.name + " " + to_base64(tagged(signature)) + "\n";
  }
  return bytes;
}

NoteSignature sign_note(const NoteSigner& signer, std::string_view text) {
  GCOORD_ASSERT(text.ends_with('\n'));
  GCOORD_ASSERT(check_letters(text).ok());
  const NoteSignatureBytes bytes = signer.sign(text);
  return {signer.key().name(), signer.key().id(), {bytes.begin(), bytes.end()}};
}

Result<std::vector<std::size_t>> verify_note(const SignedNote& note,
                                             std::span<const NoteKey> keys,
                                             std::size_t quorum) {
  GCOORD_ASSERT(quorum >= 1);
  std::vector<std::size_t> signers;
  for (const NoteSignature& signature : note.signatures) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const NoteKey& each) {
      return each.name() == signature.name && each.id() == signature.key_id;
    });
    if (key == keys.end()) {
      continue;
    }
    if (!key->verifies(note.text, signature.bytes)) {
      return refuse(kNoteSignature, "the signature of " + key->name() + " is not one of this text");
    }
    signers.push_back(static_cast<std::size_t>(key - keys.begin()));
  }
  std::sort(signers.begin(), signers.end());
  signers.erase(std::unique(signers.begin(), signers.end()), signers.end());
  if (signers.empty()) {
    return refuse(kNoteForeign,
                  "the note is signed by " + note.signatures.front().name +
                      (note.signatures.size() > 1 ? " and others" : "") +
                      ", by none of the keys given");
  }
  if (signers.size() < quorum) {
    return refuse(kNoteQuorum,
                  std::to_string(signers.size()) + " of the keys given signed the note, " +
                      std::to_string(quorum) + " must");
  }
  return signers;
}

}  // namespace gcoord::ledger

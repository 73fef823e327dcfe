#include "ledger/notes/signed_note.h"

#include "ledger/base/error_details.h"
#include "ledger/notes/checkpoint_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The key, the text and the note with which Go documents golang.org/x/mod/sumdb/note.
constexpr const char* kSecret =
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
constexpr const char* kPublic =
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
constexpr const char* kText =
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n";
constexpr const char* kNote =
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\u2014 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotp"
    "RZb6KE6RyyBwJnAM=\n";

NoteSigner signer_of(const std::string& name, unsigned char seed) {
  NoteSeed bytes{};
  bytes.fill(static_cast<std::byte>(seed));
  return NoteSigner::make(name, bytes).value();
}

std::string signed_by(const std::string& text, const std::vector<NoteSigner>& signers) {
  SignedNote note{.text = text};
  for (const NoteSigner& signer : signers) {
    note.signatures.push_back(sign_note(signer, text));
  }
  return print_note(note);
}

std::uint32_t refusal(const std::string& bytes,
                      const std::vector<NoteKey>& keys,
                      std::size_t quorum) {
  const auto note = parse_note(bytes);
  return note.ok() ? verify_note(note.value(), keys, quorum).status().detail()
                   : note.status().detail();
}

TEST(SignedNote, TheNoteThatGoDocumentsIsRead) {
  const NoteKey key = NoteKey::parse(kPublic).value();
  EXPECT_EQ(key.name(), "PeterNeumann");
  EXPECT_EQ(key.id(), 0xc74f20a3u);
  EXPECT_EQ(key.text(), kPublic);
  const SignedNote note = parse_note(kNote).value();
  EXPECT_EQ(note.text, kText);
  EXPECT_EQ(print_note(note), kNote);
  EXPECT_THAT(verify_note(note, {&key, 1}, 1).value(), ElementsAre(0u));
}

TEST(SignedNote, TheNoteThatGoDocumentsIsWrittenWithItsKey) {
  const NoteSigner signer = NoteSigner::parse(kSecret).value();
  EXPECT_EQ(signer.key().text(), kPublic);
  EXPECT_EQ(signer.secret_text(), kSecret);
  EXPECT_EQ(signed_by(kText, {signer}), kNote);
}

TEST(SignedNote, EveryFlippedBitOfANoteIsFound) {
  const std::vector<NoteSigner> signers = {signer_of("a", 1), signer_of("b", 2)};
  const std::vector<NoteKey> keys = {signers[0].key(), signers[1].key()};
  const std::string note = signed_by("one\n\ntwo\n", signers);
  ASSERT_EQ(refusal(note, keys, 2), 0u);
  for (std::size_t bit = 0; bit < note.size() * 8; ++bit) {
    std::string changed = note;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(refusal(changed, keys, 2), 0u) << "bit " << bit;
  }
}

TEST(SignedNote, EachWayToBeWrongHasItsNumber) {
  const NoteSigner a = signer_of("a", 1);
  const NoteSigner b = signer_of("b", 2);
  const std::string note = signed_by("text\n", {a});
  EXPECT_EQ(refusal(note, {b.key()}, 1), kNoteForeign);
  EXPECT_EQ(refusal(note, {signer_of("a", 3).key()}, 1), kNoteForeign);  // The id tells.
  EXPECT_EQ(refusal(note, {a.key(), b.key()}, 2), kNoteQuorum);
  EXPECT_EQ(refusal(note, {a.key(), a.key()}, 2), kNoteQuorum);
  EXPECT_EQ(refusal("other" + note, {a.key()}, 1), kNoteSignature);
  EXPECT_EQ(refusal("text\n", {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal("", {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal("text\n\n", {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal(note + "- a AAAAAAAA\n", {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal(note + "\u2014 a AAAA\n", {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal(note.substr(0, note.size() - 1), {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal("te\txt\n" + note, {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal("\xff" + note, {a.key()}, 1), kNoteMalformed);
  EXPECT_EQ(refusal(std::string(kNoteBytesMax, 'x') + note, {a.key()}, 1), kNoteOversized);
  EXPECT_EQ(refusal(signed_by("text\n", std::vector<NoteSigner>(101, a)), {a.key()}, 1),
            kNoteOversized);
}

TEST(SignedNote, SignaturesOfUnknownKeysArePassedOver) {
  const NoteSigner a = signer_of("a", 1);
  std::string note = signed_by("text\n", {signer_of("witness", 9), a});
  note += "\u2014 cosigner AAAAAAQ=\n";  // Of another algorithm: one byte.
  EXPECT_EQ(refusal(note, {a.key()}, 1), 0u);
}

TEST(NoteKey, WhatIsNoKeyIsRefused) {
  const std::string key = signer_of("name", 4).key().text();
  EXPECT_TRUE(NoteKey::parse(key).ok());
  for (std::size_t at = 0; at < key.size(); ++at) {
    std::string changed = key;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(NoteKey::parse(changed).status().detail(), kNoteKey) << changed;
  }
  EXPECT_EQ(NoteKey::parse("").status().detail(), kNoteKey);
  EXPECT_EQ(NoteKey::parse("name+12345678").status().detail(), kNoteKey);
  EXPECT_EQ(NoteSigner::parse(key).status().detail(), kNoteKey);
}

TEST(NoteKey, ASecretIsNeverRepeated) {
  const Status status = NoteKey::parse(kSecret).status();
  EXPECT_EQ(status.detail(), kNoteKey);
  EXPECT_THAT(status.message(), testing::Not(HasSubstr("AYEKFALV")));
  const Status broken = NoteSigner::parse(std::string(kSecret) + "x").status();
  EXPECT_THAT(broken.message(), testing::Not(HasSubstr("AYEKFALV")));
}

TEST(NoteKey, NamesHaveNoSpacesOfAnyKind) {
  EXPECT_TRUE(note_name_valid("gcoord/7/node/2"));
  EXPECT_TRUE(note_name_valid("\u00e9"));
  for (const char* name : {"", "a b", "a+b", "a\u00a0b", "a\u3000b", "a\u2028", "a\nb", "\xff"}) {
    EXPECT_FALSE(note_name_valid(name)) << name;
  }
}

CheckpointNote checkpoint() {
  CheckpointNote note{.origin = shard_origin(7, 3), .size = 12345, .extensions = {"more 1"}};
  note.root.fill(std::byte{5});
  return note;
}

TEST(CheckpointNote, IsReadAsItWasWritten) {
  EXPECT_EQ(checkpoint_text(checkpoint()),
            "gcoord/7/shard/3\n12345\nBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=\nmore 1\n");
  EXPECT_EQ(parse_checkpoint_text(checkpoint_text(checkpoint())).value(), checkpoint());
}

TEST(CheckpointNote, HasOneSpelling) {
  const std::string root = "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=";
  const auto read = [](const std::string& text) {
    return parse_checkpoint_text(text).status().detail();
  };
  EXPECT_EQ(read("o\n1\n" + root + "\n"), 0u);
  EXPECT_EQ(read("o\n18446744073709551615\n" + root + "\n"), 0u);
  for (const char* size : {"", "01", "+1", "-1", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(read("o\n" + std::string(size) + "\n" + root + "\n"), kHeadMalformed) << size;
  }
  EXPECT_EQ(read("o\n1\n" + root), kHeadMalformed);
  EXPECT_EQ(read("o\n1\n" + root.substr(4) + "\n"), kHeadMalformed);
  EXPECT_EQ(read("\n1\n" + root + "\n"), kHeadMalformed);
  EXPECT_EQ(read("o\n1\n" + root + "\n\nx\n"), kHeadMalformed);
  EXPECT_EQ(read("o\n1\n"), kHeadMalformed);
  EXPECT_EQ(read(""), kHeadMalformed);
}

TEST(CheckpointNote, IsBelievedOfItsLogOnly) {
  const NoteSigner node = signer_of(node_key_name(7, 2), 2);
  const std::string note = signed_by(checkpoint_text(checkpoint()), {node});
  EXPECT_EQ(open_checkpoint(note, {{node.key()}, 1, shard_origin(7, 3)}).value(), checkpoint());
  EXPECT_EQ(open_checkpoint(note, {{node.key()}, 1, shard_origin(7, 4)}).status().detail(),
            kHeadOrigin);
  EXPECT_EQ(open_checkpoint(note, {{}, 1, shard_origin(7, 3)}).status().detail(), kNoteForeign);
  const std::string text = signed_by("text\n", {node});
  EXPECT_EQ(open_checkpoint(text, {{node.key()}, 1, "text"}).status().detail(), kHeadMalformed);
}

}  // namespace
}  // namespace gcoord::ledger

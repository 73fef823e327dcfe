#include "cli/ledger/proof_file.h"

#include "cli/ledger/proof_check.h"
#include "cli/ledger/proof_making.h"
#include "ledger/base/error_details.h"
#include "tests/cli/served_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace gcoord::cli {
namespace {

using ::testing::HasSubstr;

class ProofFileTest : public ::testing::Test {
 protected:
  // One server for all tests: to stop it takes a second.
  static void SetUpTestSuite() {
    served_ = new ServedLedger(3);
    served_->ledger.append(0, 3);
    served_->ledger.append(2, 40);
    served_->ledger.publish();
    served_->ledger.append(0, 1);
    older_ = served_->ledger.checkpoint().value();
    served_->ledger.publish();
    newer_ = served_->ledger.checkpoint().value();
  }

  static void TearDownTestSuite() { delete served_; }

  static EntryProof entry_proof(std::uint64_t index = 7) {
    return prove_entry(served_->place(), 2, index, served_->trust()).value();
  }

  static GrowthProof growth_proof() {
    const OpenLog log = open_log(served_->place(), std::nullopt, served_->trust()).value();
    return prove_growth(log, older_).value();
  }

  static Status verdict(const std::string& text, const ProofTrust& trust) {
    GCOORD_TRY(const ReadProof read, parse_proof_file(text));
    return ProofChecker(trust).check(read);
  }

  static Status verdict(const ProofFile& proof) {
    return verdict(print_proof(proof), served_->trust());
  }

  static Status changed(const std::function<void(EntryProof&)>& change) {
    EntryProof proof = entry_proof();
    change(proof);
    return verdict(proof);
  }

  static ServedLedger* served_;
  static std::string older_;
  static std::string newer_;
};

ServedLedger* ProofFileTest::served_ = nullptr;
std::string ProofFileTest::older_;
std::string ProofFileTest::newer_;

TEST_F(ProofFileTest, EveryEntryIsProvedUpToTheCheckpoint) {
  for (std::uint64_t index = 0; index < 40; ++index) {
    EXPECT_TRUE(verdict(entry_proof(index)).ok()) << index;
  }
  EXPECT_EQ(prove_entry(served_->place(), 2, 40, served_->trust()).status().detail(),
            ledger::kLedgerBeyond);
  EXPECT_EQ(prove_entry(served_->place(), 1, 0, served_->trust()).status().detail(),
            ledger::kLedgerAbsent);
}

TEST_F(ProofFileTest, OrderAndWhiteSpaceAreFree) {
  const std::string text = print_proof(entry_proof());
  const auto sorted = nlohmann::json::parse(text);  // By name, not as it was written.
  EXPECT_TRUE(verdict(sorted.dump(4), served_->trust()).ok());
}

void expect_every_flip_found(const std::string& text, const ProofTrust& trust) {
  ProofChecker checker(trust);
  ASSERT_TRUE(checker.check(parse_proof_file(text).value()).ok());
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    if (bit / 8 + 1 == text.size()) {
      continue;  // White space behind the object: no part of the proof.
    }
    const auto read = parse_proof_file(other);
    const Status status = read.ok() ? checker.check(read.value()) : read.status();
    EXPECT_FALSE(status.ok()) << "bit " << bit << " of byte '" << text[bit / 8] << "'";
    EXPECT_FALSE(status.message().empty());
  }
}

TEST_F(ProofFileTest, EveryFlippedBitOfAnEntryProofIsFound) {
  expect_every_flip_found(print_proof(entry_proof()), served_->trust());
}

TEST_F(ProofFileTest, EveryFlippedBitOfAGrowthProofIsFound) {
  expect_every_flip_found(print_proof(growth_proof()), served_->trust());
}

TEST_F(ProofFileTest, WhatIsWrongIsLocated) {
  const auto flip = [](ledger::MerkleHash& hash) { hash[5] ^= std::byte{1}; };
  const Status entry = changed([](EntryProof& proof) { proof.entry.back() ^= std::byte{1}; });
  EXPECT_EQ(entry.detail(), ledger::kProofFileContradiction);
  EXPECT_THAT(entry.message(), HasSubstr("/entry/decoded"));
  const Status inclusion = changed([&](EntryProof& proof) { flip(proof.entry_inclusion[1]); });
  EXPECT_EQ(inclusion.detail(), ledger::kProofRoot);
  EXPECT_THAT(inclusion.message(), HasSubstr("/shard_head/inclusion"));
  const Status shard = changed([](EntryProof& proof) { proof.shard = 1; });
  EXPECT_EQ(shard.detail(), ledger::kProofRoot);
  EXPECT_THAT(shard.message(), HasSubstr("/cluster_log/inclusion"));
  const Status index = changed([](EntryProof& proof) { proof.index = 40; });
  EXPECT_EQ(index.detail(), ledger::kProofIndex);
  const Status length = changed([](EntryProof& proof) { proof.entry_inclusion.pop_back(); });
  EXPECT_EQ(length.detail(), ledger::kProofLength);
  const Status checkpoint = changed([](EntryProof& proof) { proof.checkpoint = older_; });
  EXPECT_EQ(checkpoint.detail(), ledger::kProofFileContradiction);
  EXPECT_THAT(checkpoint.message(), HasSubstr("/checkpoint"));
  const Status cluster = changed([](EntryProof& proof) { proof.cluster = 78; });
  EXPECT_EQ(cluster.detail(), ledger::kHeadOrigin);
}

TEST_F(ProofFileTest, KeysDecideWhoIsBelieved) {
  const std::string text = print_proof(entry_proof());
  ledger::NoteSeed seed{};
  const auto stranger = ledger::NoteSigner::make("gcoord/77/node/1", seed).value().key();
  EXPECT_EQ(verdict(text, {{stranger}, 1, "gcoord/77"}).detail(), ledger::kNoteForeign);
  ProofTrust trust = served_->trust(4);
  trust.keys.push_back(stranger);
  EXPECT_EQ(verdict(text, trust).detail(), ledger::kNoteQuorum);
  trust.quorum = 3;
  EXPECT_TRUE(verdict(text, trust).ok());
  EXPECT_EQ(origin_of_keys(trust.keys), "gcoord/77");
  EXPECT_EQ(majority_of(4), 3u);
  EXPECT_EQ(verdict(text, {trust.keys, 3, "gcoord/78"}).detail(), ledger::kHeadOrigin);
}

TEST_F(ProofFileTest, WhatIsNoProofFileIsRefused) {
  const std::string text = print_proof(entry_proof());
  const auto refusal = [&](const std::string& other) {
    return verdict(other, served_->trust()).detail();
  };
  for (const std::string& other : {std::string{},
                                   std::string{"{}"},
                                   std::string{"[]"},
                                   std::string{"null"},
                                   std::string(10'000, '['),
                                   text.substr(0, text.size() / 2),
                                   text.substr(0, text.size() - 2) + ",\"more\":1}",
                                   text.substr(0, text.size() - 2) + ",\"shard\":\"2\"}"}) {
    EXPECT_EQ(refusal(other), ledger::kProofFileMalformed) << other.substr(0, 40);
  }
  EXPECT_EQ(refusal(std::string(kProofFileBytesMax + 1, ' ')), ledger::kProofFileOversized);
}

TEST_F(ProofFileTest, GrowthIsProvedAndItsContradictionsHaveNumbers) {
  GrowthProof proof = growth_proof();
  EXPECT_TRUE(verdict(proof).ok());
  std::swap(proof.older, proof.newer);
  EXPECT_EQ(verdict(proof).detail(), ledger::kProofBackwards);
  ledger::CheckpointNote split{.origin = "gcoord/77", .size = 3, .root = {}};
  proof = {.older = newer_,
           .newer = server::FakeLedger::signed_by(served_->ledger.signers(), split),
           .consistency = {}};
  EXPECT_EQ(verdict(proof).detail(), ledger::kProofSplit);
  split.size = 4;
  proof.newer = server::FakeLedger::signed_by(served_->ledger.signers(), split);
  EXPECT_EQ(verdict(proof).detail(), ledger::kProofLength);
  split.origin = "gcoord/9";
  proof.newer = server::FakeLedger::signed_by(served_->ledger.signers(), split);
  EXPECT_EQ(verdict(proof).detail(), ledger::kHeadOrigin);
}

}  // namespace
}  // namespace gcoord::cli

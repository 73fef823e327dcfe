// What a reader of a ledger gets of an entry that its node hides, by every way round.
#include "cli/ledger/audit_scan.h"
#include "cli/ledger/export.h"
#include "cli/ledger/fsck.h"
#include "cli/ledger/proof_making.h"
#include "ledger/base/error_details.h"
#include "ledger/tiles/hidden_entry.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/cli/served_ledger.h"
#include "tests/scratch_folder.h"
#include "tests/server/history/access_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class HiddenEntriesTest : public ::testing::Test {
 protected:
  // One server for all tests: to stop it takes a second. Entry 3 of shard 0 is bob's new password.
  static void SetUpTestSuite() {
    served_ = new ServedLedger(2);
    served_->ledger.append(0, 3);
    served_->ledger.append(1, 5);
    served_->ledger.tree(0).append(
        server::access_entry(security::AccessKind::UserPassword, server::kSomeVerifier));
    served_->ledger.append(0, 2);
    served_->ledger.publish();
    may_see_ = false;
    served_->endpoint =
        server::LedgerEndpoint::open(
            "127.0.0.1:0",
            served_->ledger,
            {.metrics = served_->metrics,
             .may_see_secrets = [](const server::HttpRequest&) { return may_see_; }})
            .value();
  }

  static void TearDownTestSuite() { delete served_; }

  void SetUp() override { may_see_ = false; }

  static Result<OpenLog> log() { return open_log(served_->place(), 0u, served_->trust()); }

  static Status verdict(const ProofFile& proof) {
    GCOORD_TRY(const ReadProof read, parse_proof_file(print_proof(proof)));
    return ProofChecker(served_->trust()).check(read);
  }

  static ServedLedger* served_;
  static bool may_see_;
};

ServedLedger* HiddenEntriesTest::served_ = nullptr;
bool HiddenEntriesTest::may_see_ = false;

TEST_F(HiddenEntriesTest, ARangeHasItWithoutItsVerifierAndWholeForThoseWhoMayManageUsers) {
  const auto hidden = log().value().reader->entries(0, 6).value();
  EXPECT_THAT(text_of(hidden[3]), Not(HasSubstr("scrypt")));
  const auto facts = server::record_facts(hidden[3]);
  EXPECT_EQ(fact_of(facts, "hidden"), "yes");
  EXPECT_EQ(fact_of(facts, "claimed.principal"), "root-ann");
  EXPECT_EQ(fact_of(facts, "principal"), "");
  may_see_ = true;
  const auto whole = log().value().reader->entries(0, 6).value();
  EXPECT_THAT(text_of(whole[3]), HasSubstr(server::kSomeVerifier));
  for (const std::size_t same : {0, 1, 2, 4, 5}) {
    EXPECT_EQ(hidden[same], whole[same]);
  }
}

TEST_F(HiddenEntriesTest, FiltersFindItByWhoAndWhenAndWriteNoVerifier) {
  auto scan = AuditScan::open(served_->place(), served_->trust()).value();
  for (const AuditFilter& filter :
       {AuditFilter{.principal = "root-ann", .name = {}, .since = {}},
        AuditFilter{.principal = {}, .name = {}, .since = "2023-11-14T22:13:20.1"}}) {
    const auto page = scan.find({.filter = filter, .shard = {}, .from = {}, .bounds = {}}).value();
    bool found = false;
    for (const AuditRow& row : page.rows) {
      found = found || !fact_of(row.facts, "hidden").empty();
      EXPECT_THAT(text_of(row.entry), Not(HasSubstr("scrypt")));
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(page.hidden, 1u);
    const std::vector<ProofFile> proofs = scan.prove(page.rows).value();
    for (const ProofFile& proof : proofs) {
      EXPECT_TRUE(verdict(proof).ok());
    }
  }
}

// A mirror may hide what it likes of shard 0, but not how much that is.
TEST_F(HiddenEntriesTest, EveryScanCountsWhatItCouldNotReadWhateverItLooksFor) {
  auto scan = AuditScan::open(served_->place(), served_->trust()).value();
  const AuditFilter nothing{.principal = "nobody-at-all", .name = {}, .since = {}};
  AuditQuery query{.filter = nothing, .shard = {}, .from = {}, .bounds = {}};
  for (const std::optional<std::uint32_t> shard : {std::optional<std::uint32_t>{}, {0u}, {1u}}) {
    query.shard = shard;
    const auto page = scan.find(query).value();
    EXPECT_TRUE(page.rows.empty());
    EXPECT_EQ(page.hidden, 1u);  // It could have been a note.
  }
  // Each is counted once, also where the notes end before it: it is entry 3.
  query.shard = 0;
  for (const std::uint64_t bound : {1, 2, 3, 4, 5}) {
    query.bounds.entries = bound;
    EXPECT_EQ(scan.find(query).value().hidden, bound > 3 ? 1u : 0u) << bound;
  }
  query.bounds.entries = 2;
  query.from = {.shard = 0, .index = 2};
  EXPECT_EQ(scan.find(query).value().hidden, 1u);
  may_see_ = true;
  EXPECT_EQ(AuditScan::open(served_->place(), served_->trust()).value().find(query).value().hidden,
            0u);
}

TEST_F(HiddenEntriesTest, OfAnotherShardNoneIsTaken) {
  const EntryProof whole = prove_entry(served_->place(), 1, 2, served_->trust()).value();
  EXPECT_TRUE(verdict(whole).ok());
  EntryProof hidden = whole;
  hidden.entry = ledger::hidden_entry(whole.entry, {});
  hidden.decoded = server::record_facts(hidden.entry);
  EXPECT_EQ(verdict(hidden).detail(), ledger::kEntryHash);
  // And in a copy whose maker hides it.
  const ScratchFolder folder;
  const std::string copy = folder.path("copy");
  for (const std::uint32_t shard : {0u, 1u}) {
    ASSERT_TRUE(export_log(served_->place(), shard, served_->trust(), copy).ok());
    const OpenLog log = open_log({.ledger = copy}, shard, served_->trust()).value();
    auto entries = log.reader->entries(0, log.checkpoint.size).value();
    entries[2] = ledger::hidden_entry(entries[2], {});
    const auto bundle = ledger::encode_bundle(entries).value();
    const std::string file = copy + "/shard/" + std::to_string(shard) + "/tile/entries/000.p/" +
                             std::to_string(entries.size());
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    ASSERT_TRUE(write_file(file, text_of(bundle)).ok());
    FsckReport checked;
    check_log({.ledger = copy}, shard, served_->trust(), checked);
    EXPECT_EQ(checked.hidden, shard == 0 ? 2u : 0u);
    ASSERT_EQ(checked.faults.size(), shard == 0 ? 0u : 1u);
    EXPECT_EQ(log.reader->entries(0, 5).status().detail(),
              shard == 0 ? 0u : static_cast<std::uint32_t>(ledger::kEntryHash));
  }
}

TEST_F(HiddenEntriesTest, ItsProofIsOfItsHashAndSaysSo) {
  EntryProof proof = prove_entry(served_->place(), 0, 3, served_->trust()).value();
  EXPECT_TRUE(verdict(proof).ok());
  EXPECT_EQ(fact_of(proof.decoded, "hidden"), "yes");
  may_see_ = true;
  const EntryProof whole = prove_entry(served_->place(), 0, 3, served_->trust()).value();
  EXPECT_TRUE(verdict(whole).ok());
  EXPECT_EQ(fact_of(whole.decoded, "hidden"), "");
  EXPECT_EQ(whole.entry_inclusion, proof.entry_inclusion);
  // Another hash in the stand-in, and a stand-in that its facts do not own up to.
  EntryProof other = proof;
  other.entry[ledger::kHiddenEntryMark.size()] ^= std::byte{1};
  other.decoded = server::record_facts(other.entry);
  EXPECT_FALSE(verdict(other).ok());
  proof.decoded = whole.decoded;
  EXPECT_EQ(verdict(proof).detail(), ledger::kProofFileContradiction);
}

// Whoever writes a proof file could say anything of a session otherwise.
TEST_F(HiddenEntriesTest, NoNoteIsHidden) {
  const EntryProof acquire = prove_entry(served_->place(), 0, 0, served_->trust()).value();
  EntryProof note = acquire;
  note.entry = ledger::hidden_entry(acquire.entry, {});
  note.decoded = server::record_facts(note.entry);
  note.decoded.front().second = "session_note";
  note.decoded.emplace_back("session", std::string{fact_of(acquire.decoded, "session")});
  EXPECT_FALSE(verdict(NotedProof{.entry = acquire, .note = note}).ok());
  note.decoded = server::record_facts(note.entry);
  EXPECT_EQ(verdict(NotedProof{.entry = acquire, .note = note}).detail(),
            ledger::kProofFileContradiction);
}

TEST_F(HiddenEntriesTest, AnExportAndItsCheckCountItAndNoFileHasTheVerifier) {
  const ScratchFolder folder;
  const std::string copy = folder.path("copy");
  const ExportReport report = export_log(served_->place(), 0u, served_->trust(), copy).value();
  EXPECT_EQ(report.hidden, 1u);
  for (const auto& each : std::filesystem::recursive_directory_iterator(copy)) {
    if (each.is_regular_file()) {
      std::ifstream file(each.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      EXPECT_THAT(text, Not(HasSubstr("scrypt"))) << each.path();
    }
  }
  FsckReport checked;
  check_log({.ledger = copy}, 0u, served_->trust(), checked);
  EXPECT_TRUE(checked.faults.empty());
  EXPECT_EQ(checked.hidden, 1u);
  EXPECT_EQ(checked.entries, 5u);
  EXPECT_EQ(checked.unread, 0u);
  may_see_ = true;
  EXPECT_EQ(export_log(served_->place(), 0u, served_->trust(), folder.path("whole")).value().hidden,
            0u);
}

}  // namespace
}  // namespace gcoord::cli

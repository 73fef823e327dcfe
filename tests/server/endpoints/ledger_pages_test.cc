#include "server/endpoints/ledger_pages.h"

#include "ledger/notes/checkpoint_note.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/server/endpoints/fake_ledger.h"
#include "tests/server/history/access_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using ::testing::StartsWith;

std::string bytes_of(const ledger::TreeReader& tree, const char* path) {
  const auto bytes = ledger::tile_at(tree, ledger::parse_tile_path(path).value()).value();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

FakeLedger published() {
  FakeLedger ledger(3);
  ledger.append(0, 5);
  ledger.append(2, 300);
  ledger.publish();
  return ledger;
}

TEST(LedgerPages, TilesAreThoseOfTheTrees) {
  FakeLedger ledger = published();
  const LedgerPage page = ledger_page(ledger, "/shard/2/tile/0/001.p/44");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.immutable);
  EXPECT_EQ(page.body, bytes_of(ledger.tree(2), "tile/0/001.p/44"));
  EXPECT_EQ(ledger_page(ledger, "/shard/2/tile/entries/000").body,
            bytes_of(ledger.tree(2), "tile/entries/000"));
  EXPECT_EQ(ledger_page(ledger, "/tile/0/000.p/2").body,
            bytes_of(*ledger.cluster_log(), "tile/0/000.p/2"));
}

TEST(LedgerPages, CheckpointsAreSignedNotes) {
  FakeLedger ledger = published();
  const auto key = ledger.signers()[0].key();
  const LedgerPage cluster = ledger_page(ledger, "/checkpoint");
  EXPECT_FALSE(cluster.immutable);
  EXPECT_EQ(ledger::open_checkpoint(cluster.body, {{key}, 1, "gcoord/77"}).value().size, 2u);
  const auto shard = ledger::open_checkpoint(ledger_page(ledger, "/shard/2/checkpoint").body,
                                             {{key}, 1, "gcoord/77/shard/2"});
  EXPECT_EQ(shard.value().size, 300u);
  EXPECT_EQ(ledger::cluster_place(shard.value()).value(), (ledger::ClusterPosition{1, 2}));
  EXPECT_THAT(ledger_page(ledger, "/key").body, StartsWith(key.text() + "\n"));
}

// A bundle of the shard of users, with a verifier in its last entry.
TEST(LedgerPages, AVerifierIsGivenToThoseWhoMayHaveItAndIsKeptByNoCache) {
  FakeLedger ledger(2);
  ledger.append(0, 3);
  ledger.append(1, 3);
  ledger.tree(0).append(access_entry(security::AccessKind::UserPassword, kSomeVerifier));
  ledger.publish();
  int judged = 0;
  const MaySeeSecrets may = [&judged] { return ++judged > 0; };
  const MaySeeSecrets may_not = [&judged] { return ++judged < 0; };
  for (const char* path :
       {"/shard/0/tile/entries/000.p/4", "/shard/00/../0/tile/entries/000.p/4"}) {
    const LedgerPage hidden = ledger_page(ledger, path);
    EXPECT_EQ(hidden.body.find("scrypt"), std::string::npos) << path;
  }
  const LedgerPage refused = ledger_page(ledger, "/shard/0/tile/entries/000.p/4", may_not);
  EXPECT_EQ(refused.status, 200);
  EXPECT_EQ(refused.body.find("scrypt"), std::string::npos);
  EXPECT_TRUE(refused.secret);
  EXPECT_FALSE(refused.immutable);
  const LedgerPage whole = ledger_page(ledger, "/shard/0/tile/entries/000.p/4", may);
  EXPECT_EQ(whole.body, bytes_of(ledger.tree(0), "tile/entries/000.p/4"));
  EXPECT_TRUE(whole.secret);
  EXPECT_FALSE(whole.immutable);
  EXPECT_EQ(judged, 2);
  // Hashes, entries before it, and other shards are as they were, and nobody is judged for them.
  for (const char* path : {"/shard/0/tile/0/000.p/4",
                           "/shard/0/tile/entries/000.p/3",
                           "/shard/1/tile/entries/000.p/3"}) {
    const LedgerPage page = ledger_page(ledger, path, may_not);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_TRUE(page.immutable) << path;
    EXPECT_FALSE(page.secret) << path;
  }
  EXPECT_EQ(judged, 2);
}

TEST(LedgerPages, WhatIsNotThereHasAStatusAndANumber) {
  FakeLedger ledger = published();
  ledger.tree(2).prune(256);
  const std::pair<const char*, int> expected[] = {{"/shard/1/checkpoint", 404},
                                                  {"/shard/3/checkpoint", 404},
                                                  {"/shard/00/checkpoint", 404},
                                                  {"/shard/-1/checkpoint", 404},
                                                  {"/shard/99999999999/checkpoint", 404},
                                                  {"/shard/2", 400},
                                                  {"/shard/2/", 400},
                                                  {"/shard/2x/tile/0/000", 400},
                                                  {"/shard/2xtile/0/000", 400},
                                                  {"/shard/2/tile/0/002.p/1", 404},
                                                  {"/shard/2/tile/entries/000", 410},
                                                  {"/shard/2/tile/entries/001.p/44", 200},
                                                  {"/shard/2/tile/0/../0", 400},
                                                  {"/tile/0/000", 404},
                                                  {"/", 400},
                                                  {"", 400},
                                                  {"/etc/passwd", 400}};
  for (const auto& [path, status] : expected) {
    const LedgerPage page = ledger_page(ledger, path);
    EXPECT_EQ(page.status, status) << path;
    if (status != 200) {
      EXPECT_THAT(page.body, StartsWith("GC8")) << path;
      EXPECT_FALSE(page.immutable) << path;
    }
  }
  EXPECT_EQ(ledger_page(FakeLedger(1), "/checkpoint").status, 404);
}

}  // namespace
}  // namespace gcoord::server

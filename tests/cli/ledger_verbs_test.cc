// The verbs of gcoordctl ledger as a user runs them, against a ledger in memory behind HTTP.
#include "cli/ledger/proof_making.h"
#include "ledger/tiles/hidden_entry.h"
#include "tests/cli/programs.h"
#include "tests/cli/served_ledger.h"
#include "tests/server/history/access_records.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

namespace gcoord::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class LedgerVerbs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = new ServedLedger(4);
    served_->ledger.append(0, 5);
    served_->ledger.append(2, 300);
    served_->ledger.append(3, 300);
    served_->ledger.tree(3).prune(256);
    served_->ledger.publish();
  }

  static void TearDownTestSuite() { delete served_; }

  // `ledger VERB ...` at the server, with all keys.
  static Words at_server(Words words) {
    words.insert(words.begin(), "ledger");
    words.insert(words.end(), {"--ledger", served_->url()});
    return with_keys(std::move(words));
  }

  static Words with_keys(Words words) {
    for (const std::string& key : served_->ledger.keys()) {
      words.insert(words.end(), {"--key", key});
    }
    return words;
  }

  static nlohmann::json answer(const Words& words, int code = 0) {
    return Ctl("127.0.0.1:1").json(words, code);
  }

  static std::string refusal(const Words& words, int code = 1) {
    return answer(words, code)["error"].value("code", "");
  }

  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }

  static void flip(const std::string& path, std::size_t at) {
    std::string bytes = file_text(path);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 16);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  static ServedLedger* served_;
  const ScratchFolder directory_;
};

ServedLedger* LedgerVerbs::served_ = nullptr;

TEST_F(LedgerVerbs, HeadsAndKeysAreShown) {
  const auto cluster = answer(at_server({"head"}));
  EXPECT_EQ(cluster["origin"], "gcoord/77");
  EXPECT_EQ(cluster["size"], "3");
  EXPECT_EQ(answer(at_server({"head", "--shard", "2"}))["size"], "300");
  EXPECT_EQ(refusal(at_server({"head", "--shard", "1"})), "GC8041");
  EXPECT_EQ(answer({"ledger", "keys", "--ledger", served_->url()})["keys"].size(), 3u);
  EXPECT_EQ(refusal({"ledger", "head", "--ledger", "http://127.0.0.1:1"}, 3), "GC8040");
  EXPECT_EQ(refusal({"ledger", "head", "--ledger", "http://nonsense"}, 2), "GC1001");
}

TEST_F(LedgerVerbs, EntriesSayWhoDidWhat) {
  const auto entries = answer(at_server({"get", "--shard", "2", "254", "--count", "4"}))["entries"];
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0]["index"], "254");
  EXPECT_EQ(entries[0]["decoded"]["kind"], "acquire");
  EXPECT_EQ(entries[0]["decoded"]["name"], "lock-127");
  EXPECT_EQ(entries[0]["decoded"]["origin"], "loopback");
  EXPECT_EQ(entries[1]["decoded"]["kind"], "release");
  EXPECT_EQ(refusal(at_server({"get", "--shard", "2", "300"})), "GC8009");
  EXPECT_EQ(refusal(at_server({"get", "--shard", "3", "255"})), "GC8101");
  EXPECT_EQ(answer(at_server({"get", "--shard", "3", "256"}))["entries"].size(), 1u);
}

TEST_F(LedgerVerbs, AProofIsVerifiedOfflineAndAChangedOneIsNot) {
  const std::string proof = file("proof.json");
  const Words words = at_server({"prove", "--shard", "2", "17", "--out", proof});
  EXPECT_EQ(run("gcoordctl", words).code, 0);
  const auto valid = answer(with_keys({"ledger", "verify", proof}));
  EXPECT_EQ(valid["valid"], true);
  EXPECT_EQ(valid["index"], "17");
  EXPECT_EQ(valid["entry.kind"], "release");
  EXPECT_EQ(refusal({"ledger", "verify", proof}, 2), "GC1002");
  EXPECT_EQ(refusal({"ledger", "verify", proof, "--key", "x"}, 2), "GC8012");
  EXPECT_EQ(refusal(with_keys({"ledger", "verify", proof, "--quorum", "4"}), 2), "GC1001");
  EXPECT_EQ(answer(with_keys({"ledger", "verify", "--lines", proof, proof}))["proofs"], "2");
  flip(proof, file_text(proof).find("lock") + 1);
  EXPECT_EQ(answer(with_keys({"ledger", "verify", proof}), 1).contains("error"), true);
}

// Whoever writes a proof file may put a stand-in into it that says anything.
TEST_F(LedgerVerbs, OfAHiddenEntryNothingButItsHashIsVerified) {
  EntryProof forged = prove_entry(served_->place(), 0, 3, served_->trust()).value();
  const auto invented = server::access_entry(security::AccessKind::UserPassword, "");
  forged.entry = ledger::hidden_entry(forged.entry, invented);
  forged.decoded = server::record_facts(forged.entry);
  EXPECT_EQ(fact_of(forged.decoded, "claimed.principal"), "root-ann");
  const std::string proof = file("forged.json");
  std::ofstream(proof, std::ios::binary) << print_proof(forged);
  const Words verify = with_keys({"ledger", "verify", proof});
  const auto valid = answer(verify);
  EXPECT_EQ(valid["proves"], "leaf");
  EXPECT_EQ(valid["entry.kind"], "hidden");
  EXPECT_EQ(valid["index"], "3");
  for (const char* const invention : {"root-ann", "bob", "user_password", "claimed"}) {
    EXPECT_THAT(valid.dump(), Not(HasSubstr(invention)));
    EXPECT_THAT(run("gcoordctl", verify).out, Not(HasSubstr(invention)));
  }
  EXPECT_EQ(answer(with_keys({"ledger", "verify", "--lines", proof}))["hidden"], "1");
}

TEST_F(LedgerVerbs, AnExportIsPlainFilesAndGoesOn) {
  const std::string copy = file("copy");
  for (const Words& log : {Words{}, Words{"--shard", "0"}, Words{"--shard", "2"}}) {
    Words words = {"export", copy};
    words.insert(words.end(), log.begin(), log.end());
    EXPECT_NE(answer(at_server(words))["written"], "0");
  }
  EXPECT_EQ(answer(at_server({"export", copy, "--shard", "2"}))["written"], "0");
  EXPECT_EQ(refusal(at_server({"export", copy + "/shard/2"})), "GC8043");
  const auto check = answer(with_keys({"ledger", "fsck", "--ledger", copy, "--shard", "2"}));
  EXPECT_EQ(check["entries"], "300");
  const Words prove = with_keys({"ledger", "prove", "--ledger", copy, "--shard", "2", "299"});
  EXPECT_EQ(run("gcoordctl", prove).code, 0);
}

// It reported a fault for each shard.
TEST_F(LedgerVerbs, FsckOfAnExportOfTheClusterLogAloneSaysSo) {
  const std::string copy = file("copy");
  answer(at_server({"export", copy}));
  const Words fsck = with_keys({"ledger", "fsck", "--ledger", copy});
  const auto check = answer(fsck);
  EXPECT_EQ(check["valid"], true);
  EXPECT_EQ(check["cluster_alone"], true);
  EXPECT_THAT(run("gcoordctl", fsck).out, HasSubstr("--shard N"));
  answer(at_server({"export", copy, "--shard", "0"}));
  EXPECT_EQ(answer(fsck, 1)["cluster_alone"], false) << "a shard that is missing beside others";
}

TEST_F(LedgerVerbs, FsckFindsEveryWrongEntryAndTile) {
  const std::string copy = file("copy");
  EXPECT_EQ(answer(at_server({"fsck", "--shard", "2"}))["valid"], true);
  answer(at_server({"export", copy, "--shard", "2"}));
  const std::string shard = copy + "/shard/2/tile/";
  const Words fsck = with_keys({"ledger", "fsck", "--ledger", copy, "--shard", "2"});
  flip(shard + "entries/000", 2);
  flip(shard + "entries/000", file_text(shard + "entries/000").size() - 1);
  const auto entries = answer(fsck, 1);
  EXPECT_EQ(entries["code"], "GC8045");
  ASSERT_EQ(entries["faults"].size(), 2u);
  EXPECT_THAT(entries["faults"][0]["what"], HasSubstr("entry 0 "));
  EXPECT_THAT(entries["faults"][1]["what"], HasSubstr("entry 255 "));
  flip(shard + "0/001.p/44", 3 * 32);
  const auto edge = answer(fsck, 1);
  ASSERT_EQ(edge["faults"].size(), 2u);
  EXPECT_THAT(edge["faults"][1]["what"], HasSubstr("hash 3 of tile/0/001.p/44"));
}

TEST_F(LedgerVerbs, FsckReadsTheClusterLogAndAllShardsWithHeads) {
  const auto all = answer(at_server({"fsck"}));
  EXPECT_EQ(all["logs"], "4");
  EXPECT_EQ(all["entries"], std::to_string(3 + 5 + 300 + 44));
  EXPECT_EQ(all["pruned"], "256");
}

TEST_F(LedgerVerbs, FsckCountsWhatSaysNothingToThisRelease) {
  ServedLedger served(1);
  served.ledger.append(0, 3);
  served.ledger.tree(0).append({});
  served.ledger.publish();
  const Words fsck = {"ledger", "fsck", "--ledger", served.url(), "--shard", "0"};
  const auto answered = answer(fsck);
  EXPECT_EQ(answered["valid"], true);
  EXPECT_EQ(answered["unread"], "1");
  EXPECT_THAT(run("gcoordctl", fsck).out, HasSubstr("GC8025"));
}

TEST_F(LedgerVerbs, AWatcherSeesGrowthAndKeepsEvidenceOfContradictions) {
  ServedLedger served(1);
  served.ledger.append(0, 3);
  served.ledger.publish();
  const std::string state = file("seen");
  Words watch = {"ledger",
                 "watch",
                 "--ledger",
                 served.url(),
                 "--shard",
                 "0",
                 "--count",
                 "1",
                 "--state",
                 state};
  const std::string key = served.ledger.keys()[0];
  watch.insert(watch.end(), {"--key", key});
  EXPECT_EQ(answer(watch)["size_before"], "0");
  served.ledger.append(0, 4);
  served.ledger.publish();
  EXPECT_EQ(answer(watch)["size_before"], "3");
  EXPECT_EQ(answer(watch)["news"], false);
  // Another history of the same length, then a shorter one, signed by the same key.
  ledger::CheckpointNote split{.origin = "gcoord/77/shard/0", .size = 7, .root = {}};
  std::ofstream(state) << server::FakeLedger::signed_by({served.ledger.signers()[0]}, split);
  EXPECT_EQ(refusal(watch), "GC8008");
  Words verify = {"ledger", "verify", state + ".evidence-7", "--key", key};
  EXPECT_EQ(refusal(verify), "GC8008");
  split.size = 9;
  std::ofstream(state) << server::FakeLedger::signed_by({served.ledger.signers()[0]}, split);
  EXPECT_EQ(refusal(watch), "GC8007");
  split.size = 5;
  std::ofstream(state) << server::FakeLedger::signed_by({served.ledger.signers()[0]}, split);
  EXPECT_EQ(refusal(watch), "GC8006");
  EXPECT_EQ(refusal(verify), "GC8006");
  std::ofstream(state) << "nonsense";
  EXPECT_EQ(refusal(watch), "GC8044");
}

TEST_F(LedgerVerbs, GrowthIsProvedBetweenCheckpoints) {
  ServedLedger served(2);
  served.ledger.append(0, 3);
  served.ledger.publish();
  const std::string older = file("older");
  std::ofstream(older) << served.ledger.checkpoint().value();
  served.ledger.append(1, 3);
  served.ledger.publish();
  const std::string proof = file("growth.json");
  const Words prove = {
      "ledger", "prove", "--ledger", served.url(), "--older", older, "--out", proof};
  EXPECT_EQ(run("gcoordctl", prove).code, 0);
  const auto grown = answer(with_keys({"ledger", "verify", proof}));
  EXPECT_EQ(grown["proves"], "growth");
  EXPECT_EQ(grown["old_size"], "1");
  EXPECT_EQ(grown["tree_size"], "2");
}

// A real node: what it decided is proved once a checkpoint covers it.
TEST(LedgerOfANode, ALockThatWasGrantedIsProvedOffline) {
  DevNode node({"--listen-ledger", "127.0.0.1:0"});
  const Ctl ctl = node.ctl();
  const Words ledger = {"--ledger", "http://" + node.ledger()};
  const auto with_ledger = [&](Words words) {
    words.insert(words.begin(), "ledger");
    words.insert(words.end(), ledger.begin(), ledger.end());
    return words;
  };
  const auto held = ctl.json({"lock", "acquire", "proved", "--ttl", "30s"});
  ASSERT_FALSE(held.contains("error")) << held;
  const std::string key = ctl.json(with_ledger({"keys"}))["keys"][0]["key"];
  const ScratchFolder directory;
  const std::string proof = (directory.path() / "proof").string();
  const Words prove =
      with_ledger({"-o", "json", "prove", "--shard", "0", "0", "--key", key, "--out", proof});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Finished made;
  do {  // Until a checkpoint with a head of the shard is signed.
    made = ctl(prove);
  } while (made.code != 0 && std::chrono::steady_clock::now() < deadline);
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const auto check = ctl.json(with_ledger({"fsck", "--key", key}));
  EXPECT_EQ(check["valid"], true) << check;
  EXPECT_EQ(check["unread"], "0");
  EXPECT_EQ(ctl.json({"ledger", "verify", proof, "--key", key})["proves"], "entry");
}

}  // namespace
}  // namespace gcoord::cli

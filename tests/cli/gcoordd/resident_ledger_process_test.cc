// The ledger of three gcoordd processes of --turn resident, by the twin of the device: what is
// decided is published, shown and proved as at the host's turn, outlives kills, and a node whose
// history is another one is named and repaired.
#include "chaos/process/free_ports.h"
#include "ledger/history/history.h"
#include "ledger/history/store.h"
#include "ledger/trees/cpu.h"
#include "tests/cli/resident_cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kLong = "1h";  // A hold outlives the test.

// Where a lock's entry stands.
struct Place {
  std::uint32_t shard = 0;
  std::uint64_t index = 0;  // From 0.
};

class ResidentLedgerTest : public ResidentProcessTest {
 protected:
  explicit ResidentLedgerTest(const std::string& durability = "durable")
      : ResidentProcessTest({.durability = durability,
                             .more = {"--checkpoint-interval", "1s"},
                             .of_node = ledger_flags()}) {}

  static std::vector<Words> ledger_flags() {
    const auto found = chaos::free_ports(3);
    EXPECT_TRUE(found.ok());
    std::vector<Words> flags;
    urls_.clear();
    for (const std::uint16_t port : found.value()) {
      const std::string address = "127.0.0.1:" + std::to_string(port);
      urls_.push_back("http://" + address);
      flags.push_back({"--listen-ledger", address});
    }
    return flags;
  }

  // `ledger VERB ...` at a node, with the nodes' keys.
  Finished ledger(const Words& words, std::uint32_t node = 1) const {
    Words all = {"-o", "json", "ledger"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--ledger", urls_[node - 1]});
    return run("gcoordctl", with_keys(std::move(all)));
  }

  Words with_keys(Words words) const {
    for (const std::string& key : keys_) {
      words.insert(words.end(), {"--key", key});
    }
    return words;
  }

  // All three, once they are in the log of shard 0.
  void learn_keys() {
    wait_for([this] {
      const auto shown = run("gcoordctl", {"-o", "json", "ledger", "keys", "--ledger", urls_[0]});
      keys_.clear();
      for (const json& each : shown.json().value("keys", json::array())) {
        keys_.push_back(each["key"]);
      }
      return keys_.size() == 3;
    });
  }

  Place place_of(const std::string& name) {
    const json lock = ctl_->json({"lock", "get", name});
    return {lock["shard"], std::stoull(std::string(lock["acquired_index"])) - 1};
  }

  // Until a node shows a checkpoint of the shard that has the entry.
  void wait_published(const Place& place, std::uint32_t node = 1) {
    wait_for([&] {
      const json head = ledger({"head", "--shard", std::to_string(place.shard)}, node).json();
      return std::stoull(head.value("size", std::string("0"))) > place.index;
    });
  }

  json decoded(const Place& place, std::uint32_t node = 1) {
    const Finished got =
        ledger({"get", "--shard", std::to_string(place.shard), std::to_string(place.index)}, node);
    EXPECT_EQ(got.code, 0) << got.out << got.err;
    return got.json()["entries"][0]["decoded"];
  }

  // Writes a proof of the entry and has it verified offline; what the entry is.
  json prove(const Place& place, const std::string& file, std::uint32_t node = 1) {
    const Finished made = ledger({"prove",
                                  "--shard",
                                  std::to_string(place.shard),
                                  std::to_string(place.index),
                                  "--out",
                                  file},
                                 node);
    EXPECT_EQ(made.code, 0) << made.out << made.err;
    return verified(file);
  }

  json verified(const std::string& file) const {
    const Finished valid = run("gcoordctl", with_keys({"-o", "json", "ledger", "verify", file}));
    EXPECT_EQ(valid.code, 0) << valid.out << valid.err;
    return valid.json();
  }

  // Exit 1 if the cluster log does not continue what this node or another one showed before. A node
  // that has just started has none to show (GC8041) before a majority has signed it.
  void expect_grows(std::uint32_t node) {
    Finished seen;
    wait_for([&] {
      seen = ledger({"watch", "--state", file("seen"), "--count", "1"}, node);
      return seen.code == 0 || seen.error_code() != "GC8041";
    });
    EXPECT_EQ(seen.code, 0) << seen.out << seen.err;
  }

  json status_of(std::uint32_t node) {
    const json status = (*ctl_)({"-o", "json", "status"}).json();
    for (const json& each : status.value("nodes", json::array())) {
      if (each.value("node", 0u) == node) {
        return each;
      }
    }
    return json::object();
  }

  json publication(std::uint32_t node) {
    return status_of(node).value("publication", json::object());
  }

  // Until all shards have leaders and every node hears both others.
  void wait_until_serving() {
    wait_for([this] {
      std::uint32_t led = 0;
      std::uint32_t heard = 0;
      for (std::uint32_t node = 1; node <= 3; ++node) {
        const json status = status_of(node);
        led += status.value("leaders", 0u);
        for (const json& peer : status.value("peers", json::array())) {
          heard += peer.value("live", false) ? 1 : 0;
        }
      }
      return led == kShards && heard == 6;
    });
  }

  // Until the node's disk has all that is applied there now: a checkpoint that begins later.
  void wait_kept(std::uint32_t node) {
    const auto count = [&] {
      const json checkpoint = status_of(node).value("checkpoint", json::object());
      return std::stoull(checkpoint.value("count", std::string("0")));
    };
    const std::uint64_t before = count();
    wait_for([&] { return count() >= before + 2; });
  }

  // Until every node has signed all that is ordered.
  void wait_all_sign() {
    wait_for([this] {
      bool all = true;
      for (std::uint32_t node = 1; node <= 3 && all; ++node) {
        const json shown = publication(node);
        all = shown.value("refusal", "none").empty() && shown.value("published", "0") != "0" &&
              shown.value("signed", "a") == shown.value("ordered", "b");
      }
      return all;
    });
  }

  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }

  static inline std::vector<std::string> urls_;  // Of nodes 1 to 3.
  std::vector<std::string> keys_;
};

class ResidentMemoryLedgerTest : public ResidentLedgerTest {
 protected:
  ResidentMemoryLedgerTest() : ResidentLedgerTest("memory") {}
};

TEST_F(ResidentLedgerTest, WhatIsDecidedIsProvedAndOutlivesKills) {
  learn_keys();
  const std::string name(300, 'n');
  std::vector<Place> places;
  for (const std::string& each : {std::string("a"), name}) {
    acquire(each, kLong);
    places.push_back(place_of(each));
    const Place place = places.back();
    wait_published(place);
    const json entry = decoded(place);
    EXPECT_EQ(entry["kind"], "acquire");
    EXPECT_EQ(entry["name"], each);
    EXPECT_EQ(entry["origin"], "loopback");
    EXPECT_EQ(std::string(entry["time"]).substr(0, 2), "20");
    EXPECT_EQ(prove(place, file("proof-" + each.substr(0, 1)))["entry.kind"], "acquire");
  }
  const Place parted = places.back();
  EXPECT_EQ(decoded({parted.shard, parted.index - 1})["kind"], "part");
  EXPECT_EQ(ledger({"fsck"}).json()["valid"], true);
  EXPECT_EQ(ledger({"export", file("copy")}).code, 0);
  expect_grows(1);
  const json before = decoded(places.front());
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
    restart(node);
    wait_until_serving();
    expect_grows(node);
  }
  acquire("after", kLong);
  const Place after = place_of("after");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    wait_published(after, node);
    EXPECT_EQ(decoded(places.front(), node), before);
    prove(after, file("proof-after"), node);
    expect_grows(node);
  }
  EXPECT_EQ(verified(file("proof-a"))["entry.kind"], "acquire");
  wait_all_sign();
  for (std::uint32_t node = 1; node <= 3; ++node) {
    EXPECT_TRUE(publication(node)["alarms"].empty()) << node;
  }
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentMemoryLedgerTest, ANodeThatForgotItsTreesSignsAgain) {
  learn_keys();
  acquire("a", kLong);
  wait_published(place_of("a"));
  prove(place_of("a"), file("proof"));
  expect_grows(1);
  cluster_->kill(2);
  restart(2);
  wait_until_whole();
  acquire("b", kLong);
  const Place place = place_of("b");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    if (node != 2) {  // Whose trees go on from states: leaves below them are the others' alone.
      wait_published(place, node);
    }
    expect_grows(node);
  }
  wait_all_sign();
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

// As if a bit of one entry had been wrong in memory: the node's own tree has it.
void change_entry(const std::string& directory, const Place& place, std::uint32_t shards) {
  auto store = ledger::HistoryStore::open(directory, shards);
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  auto opened = ledger::History::open(
      {.shard_count = shards}, ledger::make_cpu_merkle_device(), *store.value());
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  ledger::History& history = *opened.value();
  const ShardId shard{place.shard};
  const std::uint64_t size = history.size(shard);
  ASSERT_GT(size, place.index);
  auto entries = history.reader(shard)->entries(0, size);
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  entries.value()[place.index].back() ^= std::byte{1};
  const auto batch = std::make_shared<ledger::HistoryEntries>();
  for (std::uint64_t index = 0; index < size; ++index) {
    batch->add(shard, index, entries.value()[index]);
  }
  ASSERT_TRUE(history.forget(shard).ok());
  ASSERT_TRUE(history.append(batch).ok());
  ASSERT_TRUE(history.flush().ok());
}

TEST_F(ResidentLedgerTest, ANodeWithAnotherHistoryIsNamedRepairedAndSignsAgain) {
  learn_keys();
  acquire("a", kLong);
  const Place place = place_of("a");
  wait_published(place, 3);
  wait_all_sign();
  wait_kept(3);
  cluster_->signal(3, SIGTERM);
  ASSERT_TRUE(cluster_->wait_exit(3, kPatience).has_value());
  change_entry((cluster_->data_directory(3) / "history").string(), place, kShards);
  restart(3);
  ctl_->json({"--timeout", "30s", "lock", "acquire", "a", "--try", "--ttl", "60s"}, 6);
  // Named by the others, or by the node itself where they hear of its repair alone.
  wait_for([&] {
    const json alarms = publication(1).value("alarms", json::array());
    return !alarms.empty() && alarms[0]["node"] == 3 && alarms[0]["shard"] == place.shard;
  });
  const std::string named = "GC8202: the history of node 3 is not the majority's: shard " +
                            std::to_string(place.shard) + " from entry " +
                            std::to_string(place.index) + " on";
  EXPECT_NE(file_text(cluster_->log_file(3)).find(named), std::string::npos) << named;
  wait_for([&] {
    const json shown = publication(3);
    return shown.contains("repair") && shown["repair"].empty();
  });
  wait_until_serving();
  wait_all_sign();
  acquire("b", kLong);
  wait_published(place_of("b"), 3);
  EXPECT_EQ(ledger({"fsck"}, 3).json()["valid"], true);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

}  // namespace
}  // namespace gcoord::cli

// A service for engine tests: each shard is the list of all commands that were applied to it. Calls
// that change something come from the thread that made it.
#pragma once

#include "server/interfaces/state_machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

class ToyService final : public StateMachine {
 public:
  struct Role {
    consensus::Role role = consensus::Role::Follower;
    Term term;
    NodeId leader;
  };

  void apply(const AppliedEntry& entry) override {
    look_at_thread();
    applied_[entry.shard.value] = entry.index;
    if (entry.kind == consensus::EntryKind::Command) {
      const auto* text = reinterpret_cast<const char*>(entry.payload.data());
      commands_[entry.shard.value].emplace_back(text, entry.payload.size());
    }
    if (entry.cookie != 0) {
      decided.push_back(entry.cookie);
    }
  }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId) override {
    look_at_thread();
    failed.emplace(cookie, status);
  }

  void on_read(std::uint64_t cookie, const Status& status, NodeId) override {
    look_at_thread();
    reads.emplace(cookie, status);
  }

  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override {
    look_at_thread();
    roles[shard.value] = {role, term, leader};
  }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    for (const std::string& command : commands(shard)) {
      const auto length = static_cast<std::uint32_t>(command.size());
      append(bytes, &length, sizeof length);
      append(bytes, command.data(), command.size());
    }
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    look_at_thread();
    ++install_count;
    auto commands = parse(bytes);
    if (!commands) {
      return Status{StatusCode::DataLoss, "cut"};
    }
    commands_[shard.value] = std::move(*commands);
    return Status{};
  }

  bool plausible(ShardId, std::span<const std::byte> bytes) const override {
    return parse(bytes).has_value();
  }

  std::uint64_t state_hash(ShardId shard) const override {
    std::uint64_t hash = 0;
    for (const std::string& command : commands(shard)) {
      hash = hash * 31 + std::hash<std::string>{}(command);
    }
    return hash;
  }

  void on_peer_message(NodeId from, std::span<const std::byte> message) override {
    const auto* text = reinterpret_cast<const char*>(message.data());
    peer_messages.emplace_back(from, std::string(text, message.size()));
  }

  void on_loop_gap(std::uint64_t ticks) override { gaps.push_back(ticks); }

  bool behind() const override { return is_behind; }

  const std::vector<std::string>& commands(ShardId shard) const {
    static const std::vector<std::string> kNone;
    const auto found = commands_.find(shard.value);
    return found == commands_.end() ? kNone : found->second;
  }

  std::vector<std::uint64_t> decided;  // Cookies, in the order of application.
  std::map<std::uint64_t, Status> failed;
  std::map<std::uint64_t, Status> reads;
  std::map<std::uint32_t, Role> roles;
  std::vector<std::pair<NodeId, std::string>> peer_messages;
  std::vector<std::uint64_t> gaps;
  int install_count = 0;
  bool is_behind = false;

 private:
  void look_at_thread() const { EXPECT_EQ(std::this_thread::get_id(), owner_); }

  static std::optional<std::vector<std::string>> parse(std::span<const std::byte> bytes) {
    std::vector<std::string> commands;
    while (!bytes.empty()) {
      std::uint32_t length = 0;
      if (bytes.size() < sizeof length) {
        return std::nullopt;
      }
      std::memcpy(&length, bytes.data(), sizeof length);
      bytes = bytes.subspan(sizeof length);
      if (bytes.size() < length) {
        return std::nullopt;
      }
      commands.emplace_back(reinterpret_cast<const char*>(bytes.data()), length);
      bytes = bytes.subspan(length);
    }
    return commands;
  }

  static void append(std::vector<std::byte>& bytes, const void* from, std::size_t byte_count) {
    const auto* start = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), start, start + byte_count);
  }

  std::map<std::uint32_t, std::vector<std::string>> commands_;
  std::map<std::uint32_t, LogIndex> applied_;
  std::thread::id owner_ = std::this_thread::get_id();
};

}  // namespace gcoord::server

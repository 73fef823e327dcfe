// Brings replicas back whose nodes have lost what kept their promises, and counts which ones are
// not back yet.
//
// What is to be done with a shard follows from its row alone (consensus/step/readmission_plan.h),
// so there is nothing to remember here but where to look. Every step of a row that leads and misses
// a member notes it; so many rows are under way at once, the others wait, which costs them nothing:
// a forgetful member that holds the log is silent. So a million shards are healed a few thousand at
// a time without a queue of messages that outgrows its resend timers, the proposals of one turn
// share its frames, and a leader that ends leaves nothing behind that the next one would need. It
// is on in memory mode, and in durable mode once the data directory of any node was replaced; else
// it does nothing and costs nothing, but for counting what a new directory has not been told yet.
// One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "consensus/step/inbox.h"
#include "consensus/step/shard_table.h"
#include "server/peers/counted_rows.h"
#include "server/peers/paced_rows.h"
#include "server/replicas/active.h"

#include <cstdint>

namespace gcoord::server {

class Readmission {
 public:
  struct Options {
    consensus::Durability durability = consensus::Durability::Durable;
    std::uint32_t parts = 1;  // The columns are those of one of so many parts of the node's rows.
  };

  // The columns outlive it; the gauges count the rows of all that share the registry.
  Readmission(const Options& options,
              const consensus::ShardColumns& columns,
              MetricsRegistry& registry);
  ~Readmission();
  Readmission(const Readmission&) = delete;
  Readmission& operator=(const Readmission&) = delete;

  // Once and for all.
  void turn_on();

  // Whether the counts below but forgotten_count() mean anything.
  bool on() const { return enabled_; }

  // The row was stepped.
  void note(std::uint32_t row) {
    if (enabled_ || !forgotten_.empty()) {
      look_at_row(row);
    }
  }

  // Every row is as it came back from storage.
  void note_all();

  // Looks at rows under way and hands what to propose to their next step. Once per turn.
  void advance(const consensus::StepInput& input, ActiveRows& rows);

  // Whether advance() has something to look at.
  bool waiting() const { return rows_.waiting(); }

  // Shards in which this node votes, in which it has forgotten what it promised, and for which it
  // knows no leader.
  std::uint32_t voting_count() const { return voting_.count(); }

  std::uint32_t forgotten_count() const { return forgotten_.count(); }

  std::uint32_t unled_count() const { return unled_.count(); }

  std::uint64_t led_anew() const { return led_anew_; }

  // Rows of a node on their way at once: what two nodes exchange well within the 100 ms of a
  // resend.
  static constexpr std::uint32_t kUnderWayMax = 2048;

 private:
  void look_at_row(std::uint32_t row);
  void show(std::int64_t voting, std::int64_t forgotten);

  bool worth_waiting(std::uint32_t row, const consensus::StepInput& input) const;
  void look_at(std::uint32_t row, const consensus::StepInput& input, ActiveRows& rows);

  bool enabled_;
  const consensus::ShardColumns& columns_;
  CountedRows voting_;
  CountedRows forgotten_;
  CountedRows unled_;
  std::uint64_t led_anew_ = 0;
  PacedRows rows_;  // Miss a member.
  Counter& demotions_;
  Counter& anchors_;
  Counter& promotions_;
  Gauge& voting_gauge_;
  Gauge& forgotten_gauge_;
  std::int64_t voting_shown_ = 0;
  std::int64_t forgotten_shown_ = 0;
};

}  // namespace gcoord::server

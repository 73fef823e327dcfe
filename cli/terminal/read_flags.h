// The flags of gcoordctl's reads: how fresh an answer must be, and what is said of it. One thread.
#pragma once

#include "cli/terminal/command.h"
#include "gcoord/reads.h"

#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

struct ReadFlags {
  std::string consistency;
  std::string max_staleness;
  std::string after;
  std::uint32_t node = 0;

  // None of the flags was given: the read is what it always was.
  bool plain() const {
    return consistency.empty() && max_staleness.empty() && after.empty() && node == 0;
  }
};

void add_read_flags(Command& app, ReadFlags& flags);

// What the flags say; prints the error when they make no sense.
std::optional<client::ReadOptions> read_options(Context& context, const ReadFlags& flags);

// "3:17,5:2": positions as --after takes them.
std::string positions_text(const std::vector<client::Position>& positions);

// Adds index, shard and age_ms to a result, and "after", which a later read can go on from.
void add_freshness(Json& json, const client::Freshness& at);

}  // namespace gcoord::cli

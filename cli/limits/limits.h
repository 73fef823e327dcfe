// gcoordctl limit and deny: what the verbs do. One thread.
#pragma once

#include "cli/terminal/change_flags.h"
#include "gcoord/limits.h"

#include <string>

namespace gcoord::cli {

class Context;

// What a limit or a denial is about: exactly one of them is given.
struct LimitSubjectFlags {
  std::string principal;
  std::string prefix;  // Of limits.
  std::string serial;  // Of denials,
  std::string name;    // and this one.
  std::string network;
};

struct LimitFlags {
  client::LimitsAction action = client::LimitsAction::Set;
  LimitSubjectFlags subject;
  client::Limit limit;
  std::string session_ttl_max;  // A time; empty: no limit.
  std::string duration;         // Of a denial.
  std::string reason;
  ChangeFlags change;
};

struct LimitListFlags {
  bool denials = false;
};

// Makes the change, and prints the state that it made.
int change_limits(Context& context, const LimitFlags& flags);

// All limits, or all denials.
int list_limits(Context& context, const LimitListFlags& flags);

}  // namespace gcoord::cli

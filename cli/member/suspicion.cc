#include "cli/member/suspicion.h"

#include "common/text/utc_text.h"

#include <algorithm>

namespace gcoord::cli {

namespace {

using client::FailureLevel;
using client::MemberVerdict;
using client::SuspicionCause;
using std::chrono::milliseconds;

std::string cause_text(SuspicionCause cause) {
  switch (cause) {
    case SuspicionCause::None:
      return "";
    case SuspicionCause::Silent:
      return "silent";
    case SuspicionCause::Refused:
      return "refused";
    case SuspicionCause::Device:
      return "device";
    case SuspicionCause::Link:
      return "link";
  }
  return "";
}

std::string level_text(FailureLevel level) {
  switch (level) {
    case FailureLevel::Node:
      return "node";
    case FailureLevel::Device:
      return "device";
    case FailureLevel::Process:
      return "process";
    case FailureLevel::Host:
      return "host";
  }
  return "node";
}

// What the cause says of the node.
std::string reason_text(const client::MemberSuspicion& suspicion) {
  switch (suspicion.cause) {
    case SuspicionCause::None:
      return "";
    case SuspicionCause::Silent:
      return suspicion.level == FailureLevel::Host
                 ? "all nodes of its host are silent"
                 : "it answers neither probes nor those of other nodes for it";
    case SuspicionCause::Refused:
      return "its host answers that no process listens there";
    case SuspicionCause::Device:
      return "it said that its GPU does not work any more";
    case SuspicionCause::Link:
      return "other nodes hear it: a link is cut";
  }
  return "";
}

Json age_json(const std::optional<milliseconds>& age) {
  return age ? Json(static_cast<std::uint64_t>(age->count())) : Json(nullptr);
}

// "850 ms", "12 s".
std::string age_text(std::uint64_t ms) {
  return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

MemberVerdict verdict_of(const Seen& seen) {
  const auto& suspicion = seen.sighting.suspicion;
  if (!seen.sighting.alive || (suspicion && suspicion->verdict == MemberVerdict::Suspect)) {
    return MemberVerdict::Suspect;
  }
  return suspicion ? suspicion->verdict : MemberVerdict::Alive;
}

std::size_t count_of(const std::vector<Seen>& seen, MemberVerdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(seen, verdict, verdict_of));
}

}  // namespace

std::string verdict_text(MemberVerdict verdict) {
  switch (verdict) {
    case MemberVerdict::Alive:
      return "alive";
    case MemberVerdict::Doubted:
      return "doubted";
    case MemberVerdict::Suspect:
      return "suspect";
  }
  return "alive";
}

Json suspicion_json(const client::MemberSuspicion& suspicion) {
  return {{"verdict", verdict_text(suspicion.verdict)},
          {"cause", cause_text(suspicion.cause)},
          {"level", level_text(suspicion.level)},
          {"phi_milli", suspicion.phi_milli},
          {"since_ms", static_cast<std::uint64_t>(suspicion.since.count())},
          {"direct_ms", age_json(suspicion.direct)},
          {"indirect_ms", age_json(suspicion.indirect)}};
}

bool suspects(const Seen& seen) {
  return verdict_of(seen) == MemberVerdict::Suspect;
}

std::string seen_text(const std::vector<Seen>& seen) {
  for (const MemberVerdict verdict : {MemberVerdict::Suspect, MemberVerdict::Doubted}) {
    if (const std::size_t count = count_of(seen, verdict); count > 0) {
      return verdict_text(verdict) + " " + std::to_string(count) + "/" +
             std::to_string(seen.size());
    }
  }
  return seen.empty() ? "suspect" : "alive";
}

std::optional<milliseconds> last_heard(const std::vector<Seen>& seen) {
  std::optional<milliseconds> newest;
  const auto take = [&newest](const std::optional<milliseconds>& age) {
    newest = age && (!newest || *age < *newest) ? age : newest;
  };
  for (const Seen& each : seen) {
    take(each.sighting.heard);
    if (each.sighting.suspicion) {
      take(each.sighting.suspicion->direct);
    }
  }
  return newest;
}

std::string suspicion_note(const client::MemberDescription& member,
                           const std::vector<Seen>& seen,
                           std::uint64_t now_ms) {
  const std::size_t suspecting = count_of(seen, MemberVerdict::Suspect);
  if (!member.suspect && suspecting == 0) {
    return "";
  }
  std::string note = "node " + std::to_string(member.node_id);
  if (member.suspect) {
    const std::uint64_t since_ms = unix_ms(member.suspect_since);
    note += " is suspect since " + utc_text(since_ms) + " (" +
            age_text(now_ms - std::min(now_ms, since_ms)) + ")";
  } else {
    note += " is not marked as suspect in the view";
  }
  if (!seen.empty()) {
    note += "; " + std::to_string(suspecting) + " of " + std::to_string(seen.size()) +
            " nodes that answered suspect it";
  }
  if (const auto heard = last_heard(seen)) {
    note += ", heard last " + age_text(static_cast<std::uint64_t>(heard->count())) + " ago";
  }
  const auto reason = std::ranges::find_if(seen, [](const Seen& each) {
    return suspects(each) && each.sighting.suspicion &&
           each.sighting.suspicion->cause != SuspicionCause::None;
  });
  return reason == seen.end() ? note : note + ": " + reason_text(*reason->sighting.suspicion);
}

}  // namespace gcoord::cli

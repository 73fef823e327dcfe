// Words of failure detection: how a node is held, and for which reason.
//
// Values; thread-safe.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <string_view>

namespace gcoord::membership {

// Never renumber: datagrams carry it.
enum class Verdict : std::uint8_t {
  Alive = 0,
  Doubted = 1,  // It is late, or something speaks against it; it is being probed.
  Suspect = 2,  // Probes through others failed, too.
};

// The strongest reason of a verdict. Never renumber: datagrams carry it.
enum class Cause : std::uint8_t {
  None = 0,
  Silent = 1,   // Nothing is heard of it.
  Refused = 2,  // Its host says that nobody listens there: the process is gone.
  Device = 3,   // It says itself that its GPU does not work any more.
  Link = 4,     // Others hear it, this node does not.
};

// What a node says of its own GPU. Never renumber: datagrams carry it.
enum class DeviceHealth : std::uint8_t {
  None = 0,  // It works without one, or does not know.
  Works = 1,
  Stopped = 2,  // The kernel's heartbeat word stands still, or the driver reported an error.
};

// At which level a failure is.
enum class Level : std::uint8_t { Node, Device, Process, Host };

// What one node says about another one.
struct Opinion {
  NodeId node;
  Incarnation incarnation;  // Which life is meant.
  Verdict verdict = Verdict::Alive;
  Cause cause = Cause::None;

  friend bool operator==(const Opinion& a, const Opinion& b) = default;
};

// "alive", "doubted", "suspect".
constexpr std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Alive:
      return "alive";
    case Verdict::Doubted:
      return "doubted";
    case Verdict::Suspect:
      return "suspect";
  }
  return "unknown";
}

// "", "silent", "refused", "device", "link".
constexpr std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::None:
      return "";
    case Cause::Silent:
      return "silent";
    case Cause::Refused:
      return "refused";
    case Cause::Device:
      return "device";
    case Cause::Link:
      return "link";
  }
  return "unknown";
}

constexpr std::string_view device_health_name(DeviceHealth health) {
  switch (health) {
    case DeviceHealth::None:
      return "none";
    case DeviceHealth::Works:
      return "works";
    case DeviceHealth::Stopped:
      return "stopped";
  }
  return "unknown";
}

// "node" where there is nothing to say.
constexpr std::string_view level_name(Level level) {
  switch (level) {
    case Level::Node:
      return "node";
    case Level::Device:
      return "device";
    case Level::Process:
      return "process";
    case Level::Host:
      return "host";
  }
  return "unknown";
}

}  // namespace gcoord::membership

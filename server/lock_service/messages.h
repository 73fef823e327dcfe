// The lock service's messages from the other nodes: from the first byte to the part that reads
// them.
//
// They come from outside: a message that does not decode is dropped and counted. One thread, the
// node's loop.
#pragma once

#include "common/ids.h"
#include "server/interfaces/apply_observer.h"
#include "server/lock_service/tasks.h"
#include "server/reads/read_requests.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_metrics.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace gcoord::server {

class ServiceMessages {
 public:
  struct Environment {
    ReadRequests& reads;
    ServiceTasks& tasks;
    const ServiceClock& clock;
    LockServiceMetrics& metrics;
  };

  // Where the clients of another node connect.
  using AddressSink = std::function<void(NodeId, std::string_view)>;
  // What another node says of its device (device_links.h).
  using DeviceFactsSink = std::function<void(NodeId, std::span<const std::byte>)>;

  explicit ServiceMessages(const Environment& environment) : env_(environment) {}

  void set_sinks(AddressSink address, DeviceFactsSink device_facts) {
    address_sink_ = std::move(address);
    device_facts_sink_ = std::move(device_facts);
  }

  // Gets every message first, and keeps those that are its own.
  void set_tap(ApplyObserver* tap) { tap_ = tap; }

  void on_message(NodeId from, std::span<const std::byte> message);

 private:
  Environment env_;
  AddressSink address_sink_;
  DeviceFactsSink device_facts_sink_;
  ApplyObserver* tap_ = nullptr;
};

}  // namespace gcoord::server

// The pages under /debug/ of a node, for supporters and `gcoordctl debug bundle`.
//
//   /debug/build              which node, which program on which machine: JSON
//   /debug/config             the options in effect, as --print-config has them, without secrets
//   /debug/log                the newest lines of the log
//   /debug/threads?seconds=N  what each thread did for N seconds: JSON (thread_samples.h)
//   /debug/profile?seconds=N  a CPU profile for pprof; 403 where the node's operator has not
//                             allowed it
//
// The last two take as long as they say, 1 to 30 seconds (5 without an argument), one of them at a
// time: a second one is refused at once, so that they hold one thread of the port at most. They end
// when their client goes, and answer no HEAD, which would sample for nobody.
// docs/reference/http_endpoints.md promises these. Thread-safe.
#pragma once

#include "common/ids.h"
#include "server/debug/profiler_library.h"
#include "server/http/message.h"

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

namespace gcoord::server {

// What a process knows beside its node. Each is called by any thread, at any time; an empty one
// shows nothing.
struct ProcessTexts {
  std::function<std::string()> configuration;
  std::function<std::string()> recent_log;
};

struct DebugPagesOptions {
  NodeId node;
  ClusterId cluster;
  std::string cluster_name;
  Incarnation incarnation;
  bool cpu_profiles = false;
  std::string profiler_file = kProfilerFile;
  ProcessTexts texts;
};

class DebugPages {
 public:
  explicit DebugPages(DebugPagesOptions options) : options_(std::move(options)) {}

  HttpAnswer answer(const HttpRequest& request);

  // What takes its time ends now, and later requests for it do at once.
  void stop() { stop_.request_stop(); }

 private:
  HttpAnswer build() const;
  HttpAnswer threads(const HttpRequest& request);
  HttpAnswer profile(const HttpRequest& request);

  const DebugPagesOptions options_;
  std::stop_source stop_;
  std::mutex sampling_;  // Held by the one that takes its time.
};

}  // namespace gcoord::server

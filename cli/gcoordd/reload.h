// The reload of a node at SIGHUP: the log file is opened anew, the options are read again from
// where they came, and those that can change while a node runs take effect. Files of TLS are loaded
// anew by whoever is told.
//
// Called by the node's thread. Options that cannot change are named in the log, and keep their
// values until a restart; if any option is invalid, all keep theirs and the log says why.
#pragma once

#include "server/options/options.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord {

// What is wrong with the files of TLS that these options name, before a node starts or reloads with
// them (server/tls/own_files.h). Names are compared where the options say who the node is: of a
// cluster that it is to join, and without a word about its id, only its directory knows.
Status check_tls_files(const server::Invocation& invocation);

class Reload {
 public:
  // What the node runs with, and where its options come from.
  Reload(std::vector<std::string> arguments,
         server::Environment environment,
         server::Invocation running);

  // `told` is called after each reload with what the node runs with then.
  void tell(std::function<void(const server::Invocation&)> told) { told_ = std::move(told); }

  // `apply` gives the node what it runs with then, before `told` is called.
  void apply_by(std::function<Status(const server::NodeOptions&)> apply) {
    apply_ = std::move(apply);
  }

  void on_hangup();

 private:
  void apply(server::Invocation changed);

  std::vector<std::string> arguments_;
  server::Environment environment_;
  server::Invocation running_;
  std::function<void(const server::Invocation&)> told_ = [](const auto&) {};
  std::function<Status(const server::NodeOptions&)> apply_ = [](const auto&) { return Status{}; };
};

}  // namespace gcoord

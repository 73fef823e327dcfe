// Connections that send requests to the nodes of a cluster as fast as they are taken, and never
// read an answer; one that its node closes begins anew at once.
//
// One thread of its own, from start() until the object ends.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

struct NeverReadersOptions {
  std::vector<std::string> endpoints;  // Connections go to them in turn.
  std::uint32_t shards = 0;            // Of the cluster.
  std::uint32_t connections = 0;
};

class NeverReaders {
 public:
  // What they did so far.
  struct Counts {
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;  // By a node.
    std::uint64_t bytes = 0;   // Of requests that the sockets took.
  };

  // Opens sessions and takes locks for the requests, by other connections, and begins.
  static Result<std::unique_ptr<NeverReaders>> start(const NeverReadersOptions& options);

  ~NeverReaders();
  NeverReaders(const NeverReaders&) = delete;
  NeverReaders& operator=(const NeverReaders&) = delete;

  // Of any thread.
  Counts counts() const;

 private:
  struct State;

  explicit NeverReaders(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace gcoord::bench

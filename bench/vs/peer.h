// A peer of a comparison: one system with its servers, its client library and its promise.
//
// A peer is driven in one of several ways (recipes, connections, endpoints), because it is not for
// us to say which one its users would call its own: the comparison tries all of them and takes the
// best for each shape of load. One thread calls; all servers are children of it.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/json/value.h"
#include "common/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::bench {

enum class Shape : std::uint8_t {
  One,        // One client, one lock at a time: latency.
  Many,       // Many clients, each with a lock of its own.
  Pipelined,  // One client that keeps very many names under way.
};

inline constexpr std::array<Shape, 3> kShapes = {Shape::One, Shape::Many, Shape::Pipelined};

// "one", "many", "pipelined": the names in raw results.
std::string_view shape_name(Shape shape);

// A question that every peer answers, and its answer.
struct Promise {
  std::string what;
  std::string answer;
};

// Facts of a peer that a reader needs to judge its figures.
struct PeerFacts {
  std::string name;     // In raw results and of --peers: "etcd-3.4".
  std::string version;  // As its program says.
  std::uint32_t nodes = 3;
  std::string client;                 // How the load reaches it.
  std::string acknowledged;           // What holds when a client has its answer.
  std::vector<std::string> settings;  // What differs from its defaults, and defaults that matter.
  std::vector<Promise> promises;      // The same questions in the same order for every peer.
};

Json facts_json(const PeerFacts& facts);

struct PeerLoad {
  Shape shape = Shape::One;
  LoadOptions length;       // Its clients, too.
  std::string name_prefix;  // Of the locks; no load before took names with it.
};

class Peer {
 public:
  virtual ~Peer() = default;

  // The name in raw results, known before anything runs.
  virtual std::string name() const = 0;

  // Asks the programs for their version. NotFound or FailedPrecondition when the peer cannot run on
  // this machine; the message says why, for the page of results.
  virtual Result<PeerFacts> describe() = 0;

  // How many ways there are to drive a load of this shape, at least one, and one of them in words.
  virtual std::size_t way_count(Shape shape) const = 0;
  virtual std::string way_text(Shape shape, std::size_t way) const = 0;

  // Starts fresh servers with their data in this directory, and returns when they serve.
  virtual Status start(const std::filesystem::path& directory) = 0;

  // `way` is below way_count(load.shape).
  virtual Result<LoadResult> run(std::size_t way, const PeerLoad& load) = 0;

  // Ends the servers; they are gone when this returns.
  virtual void stop() = 0;
};

}  // namespace gcoord::bench

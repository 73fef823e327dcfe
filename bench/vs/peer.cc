#include "bench/vs/peer.h"

#include "common/assert.h"

namespace gcoord::bench {

std::string_view shape_name(Shape shape) {
  switch (shape) {
    case Shape::One:
      return "one";
    case Shape::Many:
      return "many";
    case Shape::Pipelined:
      return "pipelined";
  }
  GCOORD_ASSERT(false);
  return {};
}

Json facts_json(const PeerFacts& facts) {
  Json promises = Json::object();
  for (const Promise& each : facts.promises) {
    promises[each.what] = each.answer;
  }
  return {{"name", facts.name},
          {"version", facts.version},
          {"nodes", facts.nodes},
          {"client", facts.client},
          {"acknowledged", facts.acknowledged},
          {"settings", Json(facts.settings)},
          {"promises", std::move(promises)}};
}

}  // namespace gcoord::bench

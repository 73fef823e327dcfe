#include "cli/terminal/read_flags.h"

#include "protocol/error_codes.h"

#include <charconv>
#include <map>

namespace gcoord::cli {

namespace {

const std::map<std::string, client::Consistency> kConsistencies = {
    {"linearizable", client::Consistency::Linearizable},
    {"lease", client::Consistency::Lease},
    {"serializable", client::Consistency::Serializable},
    {"bounded", client::Consistency::Bounded},
    {"monotonic", client::Consistency::Monotonic}};

// "3:17"; false when it is no position.
bool parse_position(const std::string& text, client::Position& position) {
  const char* end = text.data() + text.size();
  const auto [colon, shard_error] = std::from_chars(text.data(), end, position.shard);
  if (shard_error != std::errc{} || colon == end || *colon != ':') {
    return false;
  }
  const auto [stop, index_error] = std::from_chars(colon + 1, end, position.index);
  return index_error == std::errc{} && stop == end;
}

bool parse_positions(const std::string& text, std::vector<client::Position>& positions) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    client::Position position;
    if (!parse_position(text.substr(start, comma - start), position)) {
      return false;
    }
    positions.push_back(position);
    start = comma + 1;
  }
  return true;
}

}  // namespace

void add_read_flags(Command& app, ReadFlags& flags) {
  app.add_option("--consistency",
                 flags.consistency,
                 "consistency of the read: linearizable, lease (default), serializable, bounded or "
                 "monotonic")
      ->one_of({"linearizable", "lease", "serializable", "bounded", "monotonic"})
      ->type_name("HOW");
  app.add_option("--max-staleness",
                 flags.max_staleness,
                 "with bounded: show every write acknowledged longer ago than this, or fail")
      ->type_name("TIME");
  app.add_option(
         "--after",
         flags.after,
         "with monotonic: show every write up to these positions, which earlier answers print")
      ->type_name("SHARD:INDEX,...");
  app.add_option("--node", flags.node, "read from this node")->type_name("N");
}

std::optional<client::ReadOptions> read_options(Context& context, const ReadFlags& flags) {
  client::ReadOptions options;
  options.node_id = flags.node;
  const bool bounded = !flags.max_staleness.empty();
  const std::string fallback = bounded ? "bounded" : !flags.after.empty() ? "monotonic" : "lease";
  const std::string& name = flags.consistency.empty() ? fallback : flags.consistency;
  options.consistency = kConsistencies.at(name);
  const auto refuse = [&](const std::string& why) {
    context.fail(protocol::make_error(protocol::ErrorCode::OptionInvalid, why));
    return std::nullopt;
  };
  if (!bounded && options.consistency == client::Consistency::Bounded) {
    context.refuse(protocol::make_error(protocol::ErrorCode::OptionMissing,
                                        "--max-staleness, which --consistency bounded needs"));
    return std::nullopt;
  }
  if (bounded && options.consistency != client::Consistency::Bounded) {
    return refuse("--max-staleness goes with --consistency bounded");
  }
  if (!flags.after.empty() && options.consistency != client::Consistency::Monotonic) {
    return refuse("--after goes with --consistency monotonic");
  }
  if (bounded) {
    const auto staleness = context.duration("--max-staleness", flags.max_staleness);
    if (!staleness.has_value()) {
      return std::nullopt;
    }
    options.max_staleness = *staleness;
  }
  if (!parse_positions(flags.after, options.after)) {
    return refuse("--after: '" + flags.after + "' is not SHARD:INDEX,...");
  }
  return options;
}

std::string positions_text(const std::vector<client::Position>& positions) {
  std::string text;
  for (const client::Position& each : positions) {
    text +=
        (text.empty() ? "" : ",") + std::to_string(each.shard) + ":" + std::to_string(each.index);
  }
  return text;
}

void add_freshness(Json& json, const client::Freshness& at) {
  json["shard"] = at.shard;
  json["index"] = std::to_string(at.index);
  json["age_ms"] = at.age.has_value() ? Json(at.age->count()) : Json(nullptr);
  json["after"] = positions_text({{at.shard, at.index}});
}

}  // namespace gcoord::cli

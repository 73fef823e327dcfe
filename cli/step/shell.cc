#include "cli/step/shell.h"

#include "cli/step/events.h"
#include "cli/step/fields.h"
#include "cli/step/ops.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace gcoord::cli {
namespace {

using consensus::scenario::Acknowledging;
using consensus::scenario::Cluster;

// A line longer than this is a mistake; nothing that a scenario needs is.
constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

Status fail(protocol::ErrorCode code, std::string message) {
  return {StatusCode::InvalidArgument, std::move(message), static_cast<std::uint32_t>(code)};
}

Result<Json> parse(std::string_view line) {
  if (line.size() > kLineBytesMax) {
    return fail(protocol::ErrorCode::OptionInvalid, "the line is longer than a mebibyte");
  }
  Json request = parse_json(line);
  if (!request.is_object()) {
    return fail(protocol::ErrorCode::OptionInvalid, "the line is not a JSON object");
  }
  return request;
}

Json failure(const Status& status) {
  const std::uint32_t detail = status.detail() != 0
                                   ? status.detail()
                                   : static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid);
  return {{"ok", false}, {"code", fmt::format("GC{}", detail)}, {"error", status.message()}};
}

// Every message and every write waits for the caller.
void hold_everything(Cluster& cluster) {
  for (std::uint32_t from = 1; from <= cluster.node_count(); ++from) {
    cluster.node(NodeId{from}).set_storage_acknowledging(Acknowledging::Manual);
    for (std::uint32_t to = 1; to <= cluster.node_count(); ++to) {
      if (from != to) {
        cluster.network().link(NodeId{from}, NodeId{to}).held_kinds =
            consensus::scenario::kAllKinds;
      }
    }
  }
}

}  // namespace

StepShell::StepShell(consensus::scenario::StepperFactory make_stepper)
    : make_stepper_(std::move(make_stepper)), events_(std::make_unique<StepEvents>()) {}

StepShell::~StepShell() = default;

std::string StepShell::answer(std::string_view line) {
  Json answer;
  Result<Json> request = parse(line);
  Result<Json> members = request.ok() ? run(request.value()) : Result<Json>(request.status());
  if (members.ok()) {
    answer = {{"ok", true}};
    merge_members(answer, members.value());
  } else {
    answer = failure(members.status());
  }
  answer["events"] = events_->take();
  const std::vector<std::string> violations =
      cluster_ == nullptr ? std::vector<std::string>() : cluster_->take_violations();
  if (!violations.empty()) {
    answer["violations"] = violations;
  }
  // Bytes of a command that are no UTF-8 come back as replacement characters, never as a failure.
  return json_line(answer);
}

Result<Json> StepShell::run(const Json& request) {
  const StepFields fields(request);
  GCOORD_TRY(const std::string name, fields.text_or("op", ""));
  GCOORD_TRY(const bool verbose, fields.flag_or("verbose", false));
  events_->set_verbose(verbose);
  if (name == "create") {
    GCOORD_TRY(consensus::scenario::ClusterOptions options, step_cluster_options(fields));
    GCOORD_TRY(const bool manual, fields.flag_or("manual", false));
    options.make_stepper = make_stepper_;
    GCOORD_TRY(cluster_, Cluster::create(options));
    cluster_->watch(*events_);
    if (manual) {
      hold_everything(*cluster_);
    }
    return Json::object();
  }
  const StepOp op = find_step_op(name);
  if (op == nullptr) {
    return fail(protocol::ErrorCode::CommandUnknown, fmt::format("there is no op \"{}\"", name));
  }
  if (cluster_ == nullptr) {
    return fail(protocol::ErrorCode::OptionMissing, "the first op must be \"create\"");
  }
  GCOORD_TRY(Json members, op(*cluster_, fields));
  cluster_->settle();
  cluster_->trace().take();  // Nobody reads lines here.
  return members;
}

}  // namespace gcoord::cli

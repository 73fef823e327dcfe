#include "cli/strict_json.h"

#include "common/base64.h"
#include "ledger/error_details.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace gcoord::cli {
namespace {

Status malformed(const std::string& why) {
  return Status{StatusCode::DataLoss, why, ledger::kProofFileMalformed};
}

std::optional<ledger::MerkleHash> hash_of(const StrictJson& json) {
  const auto bytes =
      json.is_string() ? from_base64(json.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes || bytes->size() != ledger::kMerkleHashBytes) {
    return std::nullopt;
  }
  ledger::MerkleHash hash{};
  std::copy(bytes->begin(), bytes->end(), hash.begin());
  return hash;
}

std::optional<std::uint64_t> decimal(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<StrictJson> parse_strict_json(std::string_view text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, StrictJson::parse_event_t event, StrictJson& value) {
    if (event == StrictJson::parse_event_t::object_start) {
      names.emplace_back();
    } else if (event == StrictJson::parse_event_t::object_end) {
      names.pop_back();
    } else if (event == StrictJson::parse_event_t::key &&
               !names.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  try {
    StrictJson json = StrictJson::parse(text.begin(), text.end(), watch);
    return twice.empty() ? Result<StrictJson>{std::move(json)}
                         : malformed("'" + twice + "' appears twice");
  } catch (const StrictJson::parse_error& error) {
    return malformed("byte " + std::to_string(error.byte) + " is not JSON");
  }
}

StrictObject::StrictObject(const StrictJson& json, std::string place, std::string& wrong)
    : json_(&json), place_(std::move(place)), wrong_(wrong) {
  if (!json.is_object()) {
    refuse(place_, "is not an object");
  }
}

void StrictObject::refuse(const std::string& place, const std::string& why) {
  if (wrong_.empty()) {
    wrong_ = (place.empty() ? "the file" : place) + " " + why;
  }
}

const StrictJson* StrictObject::member(const char* name) {
  static const StrictJson kNothing;
  read_.insert(name);
  if (!json_->is_object() || !json_->contains(name)) {
    refuse(place_ + "/" + name, "is missing");
    return &kNothing;
  }
  return &(*json_)[name];
}

std::string StrictObject::text(const char* name) {
  const StrictJson* json = member(name);
  if (!json->is_string()) {
    refuse(place_ + "/" + name, "is not a string");
    return {};
  }
  return json->get<std::string>();
}

std::uint64_t StrictObject::number(const char* name) {
  const auto number = decimal(text(name));
  if (!number) {
    refuse(place_ + "/" + name, "is not a decimal number");
  }
  return number.value_or(0);
}

std::uint32_t StrictObject::small_number(const char* name) {
  const std::uint64_t wide = number(name);
  if (wide > std::numeric_limits<std::uint32_t>::max()) {
    refuse(place_ + "/" + name, "is too large");
  }
  return static_cast<std::uint32_t>(wide);
}

std::vector<std::byte> StrictObject::bytes(const char* name) {
  auto bytes = from_base64(text(name));
  if (!bytes) {
    refuse(place_ + "/" + name, "is not base64");
  }
  return std::move(bytes).value_or(std::vector<std::byte>{});
}

ledger::MerkleHash StrictObject::hash(const char* name) {
  const auto hash = hash_of(*member(name));
  if (!hash) {
    refuse(place_ + "/" + name, "is not a hash in base64");
  }
  return hash.value_or(ledger::MerkleHash{});
}

std::vector<ledger::MerkleHash> StrictObject::hashes(const char* name, std::size_t count_max) {
  std::vector<ledger::MerkleHash> hashes;
  const StrictJson* json = member(name);
  if (!json->is_array() || json->size() > count_max) {
    refuse(place_ + "/" + name,
           "is not a list of at most " + std::to_string(count_max) + " hashes");
    return hashes;
  }
  for (const StrictJson& each : *json) {
    const auto hash = hash_of(each);
    if (!hash) {
      refuse(place_ + "/" + name + "/" + std::to_string(hashes.size()), "is not a hash in base64");
    }
    hashes.push_back(hash.value_or(ledger::MerkleHash{}));
  }
  return hashes;
}

StrictObject StrictObject::object(const char* name) {
  return StrictObject(*member(name), place_ + "/" + name, wrong_);
}

std::vector<std::pair<std::string, std::string>> StrictObject::texts(const char* name) {
  std::vector<std::pair<std::string, std::string>> texts;
  const StrictJson* json = member(name);
  if (!json->is_object()) {
    refuse(place_ + "/" + name, "is not an object");
    return texts;
  }
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) {
      refuse(place_ + "/" + name + "/" + key, "is not a string");
      return texts;
    }
    texts.emplace_back(key, value.get<std::string>());
  }
  return texts;
}

void StrictObject::end() {
  if (!json_->is_object()) {
    return;
  }
  for (const auto& [key, value] : json_->items()) {
    if (!read_.contains(key)) {
      refuse(place_ + "/" + key, "does not belong there");
    }
  }
}

}  // namespace gcoord::cli

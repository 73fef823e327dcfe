#include "common/json/strict.h"

#include "common/base64.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace gcoord {
namespace {

using Hash = StrictObject::Hash;

std::optional<Hash> hash_of(const Json& json) {
  const auto bytes = json.is_string() ? from_base64(json.text()) : std::nullopt;
  Hash hash{};
  if (!bytes || bytes->size() != hash.size()) {
    return std::nullopt;
  }
  std::copy(bytes->begin(), bytes->end(), hash.begin());
  return hash;
}

std::optional<std::uint64_t> decimal(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

}  // namespace

StrictObject::StrictObject(const Json& json, std::string place, std::string& wrong)
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

const Json* StrictObject::member(const char* name) {
  static const Json kNothing;
  read_.insert(name);
  const Json* found = json_->find(name);
  if (found == nullptr) {
    refuse(place_ + "/" + name, "is missing");
    return &kNothing;
  }
  return found;
}

std::string StrictObject::text(const char* name) {
  const Json* json = member(name);
  if (!json->is_string()) {
    refuse(place_ + "/" + name, "is not a string");
    return {};
  }
  return json->text();
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

Hash StrictObject::hash(const char* name) {
  const auto hash = hash_of(*member(name));
  if (!hash) {
    refuse(place_ + "/" + name, "is not a hash in base64");
  }
  return hash.value_or(Hash{});
}

std::vector<Hash> StrictObject::hashes(const char* name, std::size_t count_max) {
  std::vector<Hash> hashes;
  const Json* json = member(name);
  if (!json->is_array() || json->size() > count_max) {
    refuse(place_ + "/" + name,
           "is not a list of at most " + std::to_string(count_max) + " hashes");
    return hashes;
  }
  for (const Json& each : *json) {
    const auto hash = hash_of(each);
    if (!hash) {
      refuse(place_ + "/" + name + "/" + std::to_string(hashes.size()), "is not a hash in base64");
    }
    hashes.push_back(hash.value_or(Hash{}));
  }
  return hashes;
}

StrictObject StrictObject::object(const char* name) {
  return StrictObject(*member(name), place_ + "/" + name, wrong_);
}

std::vector<std::pair<std::string, std::string>> StrictObject::texts(const char* name) {
  std::vector<std::pair<std::string, std::string>> texts;
  const Json* json = member(name);
  if (!json->is_object()) {
    refuse(place_ + "/" + name, "is not an object");
    return texts;
  }
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) {
      refuse(place_ + "/" + name + "/" + key, "is not a string");
      return texts;
    }
    texts.emplace_back(key, value.text());
  }
  return texts;
}

void StrictObject::end() {
  for (const auto& [key, value] : json_->items()) {
    if (!read_.contains(key)) {
      refuse(place_ + "/" + key, "does not belong there");
    }
  }
}

}  // namespace gcoord

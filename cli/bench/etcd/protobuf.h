// The wire format of protocol buffers, as far as etcd's messages need it.
//
// Writers append fields to a string; the reader goes over the fields of one message. What comes
// from a server is bounded and checked: a message that is cut or wrong ends early. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::cli {

class ProtoWriter {
 public:
  // Writes 0, too: fields of a oneof count by being there.
  ProtoWriter& number(std::uint32_t field, std::int64_t value);
  ProtoWriter& bytes(std::uint32_t field, std::string_view value);

  ProtoWriter& message(std::uint32_t field, const ProtoWriter& value) {
    return bytes(field, value.text());
  }

  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);

  std::string text_;
};

struct ProtoField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // Of a number.
  std::string_view bytes;   // Of text, bytes and messages; within the message that is read.
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  // The next field; none at the end, and from the first on that is wrong.
  std::optional<ProtoField> next();

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::string_view> take(std::uint64_t bytes);

  std::string_view rest_;
};

// The last field of this number; 0 and empty when there is none.
std::uint64_t proto_number(std::string_view message, std::uint32_t field);
std::string_view proto_bytes(std::string_view message, std::uint32_t field);

}  // namespace gcoord::cli

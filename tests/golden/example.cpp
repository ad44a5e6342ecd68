// SPDX-License-Identifier: Apache-2.0
#include "golden/example.hpp"

#include "protocol.capnp.h"
#include "protocol/frame.hpp"
#include "record.capnp.h"
#include "replication.capnp.h"

#include <kj/string.h>

namespace codeq::test {

namespace {

/// Writes a different value into every field; the same values on each run.
class filler {
public:
  void fill(capnp::DynamicStruct::Builder target) {
    for (auto field : target.getSchema().getNonUnionFields())
      fill(target, field);
    // Sets one member of a union: the first that is not Void.
    for (auto field : target.getSchema().getUnionFields()) {
      if (field.getType().which() != capnp::schema::Type::VOID)
        return fill(target, field);
    }
  }

private:
  void fill(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field) {
    using kind = capnp::schema::Type;
    auto type = field.getType();
    if (type.which() == kind::STRUCT)
      return fill(target.init(field).as<capnp::DynamicStruct>());
    if (type.which() == kind::LIST)
      return fill(target.init(field, 2).as<capnp::DynamicList>());
    target.set(field, scalar(type, field.getProto().getName().cStr()));
  }

  void fill(capnp::DynamicList::Builder list) {
    auto type = list.getSchema().getElementType();
    for (capnp::uint i = 0; i < list.size(); ++i) {
      if (type.which() == capnp::schema::Type::STRUCT)
        fill(list[i].as<capnp::DynamicStruct>());
      else
        list.set(i, scalar(type, "element"));
    }
  }

  capnp::DynamicValue::Reader scalar(capnp::Type type, const char* name) {
    using kind = capnp::schema::Type;
    // Small enough for the smallest integer type.
    count_ = count_ % 100 + 1;
    if (type.which() == kind::BOOL)
      return true;
    if (type.which() == kind::ENUM)
      return capnp::DynamicEnum(type.asEnum(), 1);
    if (type.which() == kind::TEXT)
      return capnp::Text::Reader(name);
    if (type.which() == kind::DATA)
      return capnp::Data::Reader(capnp::Text::Reader(name).asBytes());
    return count_;
  }

  std::uint64_t count_ = 0;
};

std::string print(capnp::DynamicValue::Reader value);

/// As Cap'n Proto's own text format, but without fields that have their default value. So the text
/// of an old message does not change when a field is added.
std::string print(capnp::DynamicStruct::Reader value) {
  std::string text = "(";
  for (auto field : value.getSchema().getFields()) {
    if (!value.has(field, capnp::HasMode::NON_DEFAULT))
      continue;
    text += text.size() > 1 ? ", " : "";
    text += std::string(field.getProto().getName().cStr()) + " = " + print(value.get(field));
  }
  return text + ")";
}

std::string print(capnp::DynamicList::Reader list) {
  std::string text = "[";
  for (auto element : list)
    text += (text.size() > 1 ? ", " : "") + print(element);
  return text + "]";
}

std::string print(capnp::DynamicValue::Reader value) {
  if (value.getType() == capnp::DynamicValue::STRUCT)
    return print(value.as<capnp::DynamicStruct>());
  if (value.getType() == capnp::DynamicValue::LIST)
    return print(value.as<capnp::DynamicList>());
  return kj::str(value).cStr();
}

void append_members(
  capnp::StructSchema catalogue, const std::string& prefix, std::vector<format>& out) {
  for (auto field : catalogue.getUnionFields())
    out.push_back({prefix + field.getProto().getName().cStr(), field.getType().asStruct()});
}

} // namespace

std::vector<format> all_formats() {
  std::vector<format> formats;
  append_members(capnp::Schema::from<schema::Message>(), "message.", formats);
  append_members(capnp::Schema::from<schema::Record>(), "record.", formats);
  append_members(capnp::Schema::from<schema::ReplicaMessage>(), "replica.", formats);
  formats.push_back({"replica.frame", capnp::Schema::from<schema::ReplicaFrame>()});
  formats.push_back({"task.taskBody", capnp::Schema::from<schema::TaskBody>()});
  return formats;
}

bytes make_example(capnp::StructSchema schema) {
  capnp::MallocMessageBuilder builder(1024);
  filler{}.fill(builder.initRoot<capnp::DynamicStruct>(schema));
  return protocol::detail::flatten(builder);
}

std::string to_text(capnp::StructSchema schema, const bytes& body) {
  protocol::detail::segment_reader message(body);
  return print(message.getRoot<capnp::DynamicStruct>(schema));
}

} // namespace codeq::test

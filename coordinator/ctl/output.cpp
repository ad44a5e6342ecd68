// SPDX-License-Identifier: Apache-2.0
#include "ctl/output.hpp"

#include "base/json_writer.hpp"
#include "ctl/document_text.hpp"
#include "ctl/text.hpp"
#include "http/json/json_reader.hpp"

#include <cstdio>
#include <string>

namespace codeq::ctl {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  // Ids written to a pipe must be available before a long wait.
  std::fflush(stdout);
}

bool lacks_shards(const document& said) {
  auto object = http::json_object::parse(said.json);
  auto has = [&object](const char* name) {
    // A number, or the list of an explanation.
    const auto raw = object->raw(name);
    return !raw.empty() && raw != "0" && raw != "[]";
  };
  return object && (has("missing_shards") || has("missing_coordinators"));
}

void print(const document& said, bool json) {
  print(json ? said.json + (said.json.empty() ? "" : "\n") : document_text(said.json));
}

int finish_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
    return status;
  complain("standard output cannot be written");
  return exit_failed;
}

void complain(std::string_view text) {
  std::fprintf(stderr, "codeqctl: %s\n", printable(text).c_str());
}

int fail(const error& reason, bool json) {
  const auto status = reason.code == errc::invalid_argument ? exit_usage : exit_failed;
  if (!json) {
    complain(to_string(reason));
    return status;
  }
  base::json_writer out;
  out.begin_object().field("error", to_string(reason.code));
  out.bytes_field("context", reason.context).end_object();
  print(out.take() + "\n");
  return status;
}

} // namespace codeq::ctl

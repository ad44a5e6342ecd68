// SPDX-License-Identifier: Apache-2.0
#include "security/token_table.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace codeq::security;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto table = parse_tokens(text);
  if (!table)
    return 0;
  std::string again;
  for (const auto& who : table->principals())
    again += to_line(*who) + "\n";
  auto same = parse_tokens(again);
  if (!same || same->principals().size() != table->principals().size())
    std::abort();
  for (std::size_t i = 0; i < table->principals().size(); ++i)
    if (*same->principals()[i] != *table->principals()[i])
      std::abort();
  static_cast<void>(table->authenticate(text.substr(0, 70)));
  return 0;
}

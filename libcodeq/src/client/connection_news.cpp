// SPDX-License-Identifier: Apache-2.0
#include "client/connection_news.hpp"

namespace codeq::client {

error no_connection(
  const std::vector<std::string>& addresses, const error& reason, std::optional<duration> waited) {
  std::string text = "no connection to ";
  for (std::size_t i = 0; i < addresses.size(); ++i)
    text += (i == 0 ? "" : ", ") + addresses[i];
  if (waited)
    text += " within " + std::to_string(waited->count()) + " ms";
  if (reason.code != errc::none)
    text += ": " + reason.context;
  return {waited ? errc::disconnected : reason.code, text};
}

} // namespace codeq::client

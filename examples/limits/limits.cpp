// SPDX-License-Identifier: Apache-2.0
// Handles queue `charge`: charges an account at a payment provider that answers 429 to an account
// that calls too often. Each task names limit `provider` with its account as the key, so that a
// refusal holds back that account alone. Payload: the amount. Header `account`: the account.
#include "codeq/handler.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr int too_many_requests = 429;

struct provider_answer {
  int status = 200;
  /// The field `Retry-After` of a 429.
  std::chrono::seconds retry_after{0};
};

/// The provider. A folder stands for it here, which CODEQ_PROVIDER names: in it is a file for each
/// account that the provider refuses at present, with the seconds after which it may call again.
provider_answer charge_at_provider(const std::string& account) {
  const char* folder = std::getenv("CODEQ_PROVIDER");
  std::ifstream refused(std::filesystem::path(folder == nullptr ? "provider" : folder) / account);
  provider_answer answer;
  long seconds = 0;
  if (refused >> seconds)
    answer = {too_many_requests, std::chrono::seconds(seconds)};
  return answer;
}

// [begin readme]
codeq::outcome charge(const codeq::task& task) {
  auto account = task.headers.find("account");
  if (account == task.headers.end())
    return codeq::outcome::failed_permanently("the task needs a header `account`");
  auto answer = charge_at_provider(account->second);
  // Not a failure: the attempt is not charged, and no other task of the account is tried before.
  if (answer.status == too_many_requests)
    return codeq::outcome::limited(answer.retry_after, "provider", "429 from the provider");
  return codeq::outcome::completed("charged " + std::string(task.payload.view()));
}
// [end readme]

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("charge", charge);
}

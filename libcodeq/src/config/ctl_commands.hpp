// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "config/ctl_config.hpp"
#include "config/option_set.hpp"
#include "config/value_options.hpp"

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The commands of codeqctl, put together from their options; a part of `ctl_config`.
namespace codeq::config {

/// Commands and what each comes to once its options were read.
class ctl_commands {
public:
  explicit ctl_commands(option_set& options) : options_(options) {}

  /// Adds a command whose options write to `*target`; `check` looks at them together.
  template <class Command>
  void add(
    command entry,
    std::shared_ptr<Command> target,
    std::function<result<void>(Command&)> check = {}) {
    finish_[entry.name] = [target, check]() -> result<ctl_command> {
      if (check)
        if (auto ok = check(*target); !ok)
          return ok.error();
      return ctl_command{std::move(*target)};
    };
    options_.add(std::move(entry));
  }

  /// The command of that name. @pre it was added
  [[nodiscard]] result<ctl_command> finish(const std::string& name) { return finish_.at(name)(); }

private:
  option_set& options_;
  std::map<std::string, std::function<result<ctl_command>()>> finish_;
};

void add_enqueue_command(ctl_commands& to);
void add_task_commands(ctl_commands& to);
void add_queue_commands(ctl_commands& to);
void add_bulk_commands(ctl_commands& to);
void add_token_commands(ctl_commands& to);
void add_store_commands(ctl_commands& to);

// Options that several commands share. Their targets must outlive them.

/// Free text of at most `limit` bytes.
[[nodiscard]] option
text_option(const char* name, std::string help, std::string& target, std::size_t limit);
[[nodiscard]] option id_option(task_id& target);
[[nodiscard]] option tenant_option(std::string& target);

/// `--queue`, one queue of many.
[[nodiscard]] option queue_filter_option(std::string& target);

/// The queue's name by its place.
[[nodiscard]] option queue_option(std::string& target, bool required = true);

/// Options of what a queue or a task says of attempts, lease and retention; `default_of` gives the
/// end of a help text for the value of a queue that nobody has configured.
[[nodiscard]] std::vector<option>
settings_options(queue_changes& to, const std::function<std::string(const char*)>& default_of);

} // namespace codeq::config

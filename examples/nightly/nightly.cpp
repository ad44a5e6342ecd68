// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

/// Sums up a day's log: the task of a schedule that fires each night. The payload is the folder of
/// the logs, one file `2026-03-29.log` a day, each line of which begins with a level. The report of
/// a day is `2026-03-29.report`.
namespace {

namespace fs = std::filesystem;

/// The day of the occurrence. It comes from the nominal time and not from the clock: an occurrence
/// that is late, or repeated by a backfill, reports the same day.
std::string day_of(const codeq::task& task) {
  auto nominal = task.headers.find("codeq-nominal-time");
  return nominal == task.headers.end() ? std::string() : nominal->second.substr(0, 10);
}

std::map<std::string, int> count_levels(std::istream& log) {
  std::map<std::string, int> levels;
  for (std::string line; std::getline(log, line);)
    ++levels[line.substr(0, line.find(' '))];
  return levels;
}

codeq::outcome sum_up(const codeq::task& task) {
  auto day = day_of(task);
  if (day.empty())
    return codeq::outcome::failed_permanently("the task is not of a schedule");
  fs::path folder(std::string(task.payload.view()));
  std::ifstream log(folder / (day + ".log"));
  if (!log)
    return codeq::outcome::failed("there is no log of " + day);
  auto part = folder / (day + ".report.part");
  std::ofstream report(part);
  for (const auto& [level, count] : count_levels(log))
    report << level << ' ' << count << '\n';
  report.close();
  if (!report)
    return codeq::outcome::failed("the report of " + day + " cannot be written");
  // A second attempt, and a second occurrence of the day, replace the report as a whole.
  fs::rename(part, folder / (day + ".report"));
  return codeq::outcome::completed(day);
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("nightly", sum_up);
}

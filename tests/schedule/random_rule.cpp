// SPDX-License-Identifier: Apache-2.0
#include "schedule/random_rule.hpp"

namespace codeq::test {

namespace {

struct bounds {
  int min = 0;
  int max = 0;
};

/// Adds a value, a range or a range with a step.
void add_item(random_field& field, random_engine& random, bounds limits) {
  int first = pick(random, limits.min, limits.max);
  int last = pick(random, 0, 1) == 0 ? first : pick(random, first, limits.max);
  int step = last > first && pick(random, 0, 1) == 0 ? pick(random, 1, limits.max) : 1;
  field.text += (field.text.empty() ? "" : ",") + std::to_string(first);
  if (last > first)
    field.text += "-" + std::to_string(last);
  if (step > 1)
    field.text += "/" + std::to_string(step);
  for (int value = first; value <= last; value += step)
    field.has[static_cast<std::size_t>(value)] = true;
}

random_field make_field(random_engine& random, bounds limits, int star_percent) {
  random_field field;
  if (pick(random, 1, 100) <= star_percent) {
    int step = pick(random, 0, 2) == 0 ? pick(random, 1, limits.max) : 1;
    field.text = step == 1 ? "*" : "*/" + std::to_string(step);
    for (int value = limits.min; value <= limits.max; value += step)
      field.has[static_cast<std::size_t>(value)] = true;
    return field;
  }
  for (int items = pick(random, 1, 3); items > 0; --items)
    add_item(field, random, limits);
  return field;
}

} // namespace

std::string random_cron::text() const {
  return (has_seconds() ? second.text + " " : "") + minute.text + " " + hour.text + " " + day.text
         + " " + month.text + " " + weekday.text;
}

bool random_cron::matches_day(std::chrono::local_days when) const {
  std::chrono::year_month_day date{when};
  auto in_week = std::chrono::weekday{when}.c_encoding();
  bool by_day = day.has[static_cast<unsigned>(date.day())];
  bool by_weekday = weekday.has[in_week] || (in_week == 0 && weekday.has[7]);
  bool is_day = day.is_star() || weekday.is_star() ? by_day && by_weekday : by_day || by_weekday;
  return month.has[static_cast<unsigned>(date.month())] && is_day;
}

random_cron make_random_cron(random_engine& random, bool is_fine) {
  random_cron made;
  made.second.text = "0";
  made.second.has[0] = true;
  if (is_fine)
    made.second = make_field(random, {0, 59}, 50);
  made.minute = make_field(random, {0, 59}, 60);
  made.hour = make_field(random, {0, 23}, 75);
  made.day = make_field(random, {1, 31}, 85);
  made.month = make_field(random, {1, 12}, 95);
  made.weekday = make_field(random, {0, 7}, 85);
  return made;
}

} // namespace codeq::test

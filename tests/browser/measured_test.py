# SPDX-License-Identifier: Apache-2.0
"""How long the dashboard takes. These tests have the machine alone."""

import cluster
import dashboard

EVENTS = "/v1/codeq/admin/live?topics=queues,workers"


class Measured(dashboard.DashboardTest):
    def test_page_weighs_little_and_is_painted_soon(self):
        self.show("overview", "No queue yet")
        weight = self.browser.run("""
          return performance.getEntriesByType('resource').filter((one) => one.name.includes('/ui/'))
            .concat(performance.getEntriesByType('navigation'))
            .reduce((sum, one) => sum + one.transferSize, 0)""")
        paint = self.browser.run(
            "return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"page weight {weight} bytes, first paint {paint:.0f} ms")
        self.assertLess(weight, 200 * 1024)
        self.assertLess(paint, 1000 if not cluster.SANITIZERS else 10000)

    def test_open_stream_does_not_delay_the_stop_of_the_coordinator(self):
        connection = self.http.connect()
        connection.request("GET", EVENTS)
        answer = connection.getresponse()
        next(line for line in iter(answer.readline, b"") if line.startswith(b"data: "))
        status, seconds = self.cluster.coordinator.terminate(10)
        self.assertEqual(0, status)
        self.assertLess(seconds, 2)
        while answer.readline():
            pass
        connection.close()
